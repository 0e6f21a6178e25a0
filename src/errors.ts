/** Where in a user's input something is wrong. Each part is printed when it is known. */
export interface Place {
  /** Path of the file, as the user gave it. */
  readonly file?: string;
  /** `Kind namespace/name` of the object, or a construct's path. */
  readonly object?: string;
  /** Dotted path of the field, such as `spec.rules[0].targetModels[1].weight`. */
  readonly field?: string;
}

/** One thing that a check found. A check returns findings; it never throws them. */
export interface Finding extends Place {
  /** Stable code to match on and to acknowledge by, such as `routing/missing-server`. */
  readonly code: string;
  readonly severity: 'error' | 'warning' | 'info';
  /** What is wrong, with the offending value. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Renders a finding as the one line that people see: place, what is wrong, what to do, code. */
export function findingLine(finding: Finding): string {
  const place = [finding.file, finding.object, finding.field].filter((part) => part !== undefined && part !== '').join(': ');
  return `${place === '' ? '' : `${place}: `}${finding.message}; ${finding.remedy} [${finding.code}]`;
}

/** An error that a user can act on. Match on `finding.code`; the message is for people. */
export class KvasirError extends Error {
  override readonly name = 'KvasirError';
  readonly finding: Finding;

  constructor(finding: Omit<Finding, 'severity'>, options?: { readonly cause?: unknown }) {
    const whole: Finding = { severity: 'error', ...finding };
    super(findingLine(whole), options);
    this.finding = whole;
  }

  get code(): string {
    return this.finding.code;
  }
}
