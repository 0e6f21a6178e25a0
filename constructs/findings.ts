import type { IConstruct } from 'constructs';
import { type Finding, findingLine } from '../src/errors';

/** Findings that no acknowledgement removes: nothing could be written, or an object would be lost. */
const NEVER_ACKNOWLEDGED = /^gitops\/(?:duplicate-file|unreadable|folder-outside|two-output-folders)$/;

/** A finding that its author called known and fine. */
export interface AcknowledgedFinding {
  readonly finding: Finding;
  readonly reason: string;
}

/** Thrown by `synth()` with everything that is wrong, one line each. Match on `findings[].code`. */
export class FindingsError extends Error {
  override readonly name = 'FindingsError';
  declare readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super(['the stack has errors, nothing was written:', ...findings.map((finding) => `  ${findingLine(finding)}`)].join('\n'));
    // Not enumerable: Node would print all of it once more below the message.
    Object.defineProperty(this, 'findings', { value: findings });
    // The stack trace of synth() says nothing about where the user's mistake is.
    this.stack = `${this.name}: ${this.message}`;
  }
}

interface Acknowledgement {
  readonly code: string;
  readonly construct: IConstruct;
  readonly reason: string;
  isUsed: boolean;
}

/** What all checks of an app found, less what was acknowledged. */
export interface SortedFindings {
  readonly open: readonly Finding[];
  readonly acknowledged: readonly AcknowledgedFinding[];
}

/**
 * An app's register of acknowledged findings. Reached as `app.findings`.
 *
 * @example
 * app.findings.acknowledge('model/mutable-revision', qwen, 'the team follows the main branch');
 */
export class Findings {
  private readonly acknowledgements: Acknowledgement[] = [];

  /**
   * Silences findings with `code` at `construct` and everything under it.
   *
   * @param reason why it is fine, for the next reader. Must not be empty.
   * @throws RangeError when `reason` is empty, and for findings without whose remedy nothing can be written.
   */
  acknowledge(code: string, construct: IConstruct, reason: string): void {
    if (reason.trim() === '') throw new RangeError(`acknowledging ${code} at ${construct.node.path} needs a reason`);
    if (NEVER_ACKNOWLEDGED.test(code))
      throw new RangeError(`${code} cannot be acknowledged: nothing could be written, or an object would be lost`);
    this.acknowledgements.push({ code, construct, reason, isUsed: false });
  }

  /** Splits what checks found by the acknowledgements; adds one info finding for each of those that silenced nothing. */
  sort(found: readonly { readonly construct: IConstruct; readonly finding: Finding }[]): SortedFindings {
    const open: Finding[] = [];
    const acknowledged: AcknowledgedFinding[] = [];
    for (const entry of this.acknowledgements) entry.isUsed = false;
    for (const { construct, finding } of found) {
      const entry = this.acknowledgements.find(
        (candidate) => candidate.code === finding.code && isWithin(construct, candidate.construct),
      );
      if (entry === undefined) {
        open.push(finding);
      } else {
        entry.isUsed = true;
        acknowledged.push({ finding, reason: entry.reason });
      }
    }
    for (const { code, construct, isUsed } of this.acknowledgements) {
      if (isUsed) continue;
      open.push({
        code: 'findings/unused-acknowledgement',
        severity: 'info',
        object: construct.node.path,
        message: `acknowledges ${code}, which is not found there`,
        remedy: 'remove the acknowledgement',
      });
    }
    return { open, acknowledged };
  }
}

function isWithin(construct: IConstruct, ancestor: IConstruct): boolean {
  for (let at: IConstruct | undefined = construct; at !== undefined; at = at.node.scope) {
    if (at === ancestor) return true;
  }
  return false;
}
