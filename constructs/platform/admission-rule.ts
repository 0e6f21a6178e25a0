import type { CelValidation } from '../kube/validating-admission-policy';

/** One of the cross-field rules of a kind, in CEL. Its code, message and remedy are those of the rule in TypeScript. */
export interface AdmissionRule {
  readonly code: string;
  /** Dotted path of the field, `[]` for any element of a list. */
  readonly field: string;
  /** CEL expression that must be true. */
  readonly holds: string;
  /** What is wrong: a text, or a CEL expression of type string, evaluated when the rule does not hold. */
  readonly message: string | { readonly cel: string };
  readonly remedy: string;
}

/** A string literal of CEL. */
export const celText = (text: string): string => JSON.stringify(text);

/** CEL expression of `text` as findings show it, in quotes. `text` is a CEL expression. */
export const shownInCel = (text: string): string => `'"' + ${text} + '"'`;

/** The rule as an admission policy has it. What is said reads like a finding of the command line. */
export function toValidation({ code, field, holds, message, remedy }: AdmissionRule): CelValidation {
  const end = `; ${remedy} [${code}]`;
  return typeof message === 'string'
    ? { expression: holds, message: `${field}: ${message}${end}`, reason: 'Invalid' }
    : {
        expression: holds,
        messageExpression: `${celText(`${field}: `)} + ${message.cel} + ${celText(end)}`,
        // Said when the message itself cannot be computed.
        message: `${field}: is refused${end}`,
        reason: 'Invalid',
      };
}
