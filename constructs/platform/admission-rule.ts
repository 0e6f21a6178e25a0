import type { CelValidation } from '../kube/validating-admission-policy';

/** A text, or a CEL expression of type string that is evaluated when the rule does not hold. */
export type RuleText = string | { readonly cel: string };

interface RuleFacts {
  readonly code: string;
  /** Dotted path of the field, `[]` for any element of a list and `*` for the key of a map that `key` finds. */
  readonly field: string;
  /** CEL: the key that `*` in `field` stands for. */
  readonly key?: string;
  /** Whether the field is one that Kthena's own definition of the kind does not have. @default false */
  readonly isExtension?: true;
}

/** A rule with an expression that must be true. */
export interface HeldRule extends RuleFacts {
  readonly holds: string;
  /** What is wrong. */
  readonly message: RuleText;
  readonly remedy: RuleText;
}

/** A rule with an expression that is never false, and cannot be computed when the rule is broken: the API server then says why not. */
export interface ComputedRule extends RuleFacts {
  readonly computes: string;
  readonly message: string;
  readonly remedy: string;
}

/** One of the rules of a kind beyond its definition, in CEL. Its code, message and remedy are those of the rule in TypeScript. */
export type AdmissionRule = HeldRule | ComputedRule;

/** A string literal of CEL. */
export const celText = (text: string): string => JSON.stringify(text);

/** CEL expression of `text` as findings show it, in quotes. `text` is a CEL expression. */
export const shownInCel = (text: string): string => `'"' + ${text} + '"'`;

const textInCel = (text: RuleText): string => (typeof text === 'string' ? celText(text) : text.cel);

/** The rule as an admission policy has it. What is said reads like a finding of the command line. */
export function toValidation(rule: AdmissionRule): CelValidation {
  const { code, field } = rule;
  if ('computes' in rule) {
    const said = `${field}: ${rule.message}; ${rule.remedy} [${code}]`;
    // The API server shows the whole expression, comment included, and after it why it could not be computed.
    return { expression: `// ${said}\n${rule.computes}`, message: said, reason: 'Invalid' };
  }
  const { holds, key, message, remedy } = rule;
  if (key === undefined && typeof message === 'string' && typeof remedy === 'string') {
    return { expression: holds, message: `${field}: ${message}; ${remedy} [${code}]`, reason: 'Invalid' };
  }
  const place = key === undefined ? celText(`${field}: `) : `${celText(`${field}: `)}.replace("*", ${key})`;
  return {
    expression: holds,
    messageExpression: [place, textInCel(message), celText('; '), textInCel(remedy), celText(` [${code}]`)].join(' + '),
    // Said when the message itself cannot be computed.
    message: `${field}: is refused${typeof remedy === 'string' ? `; ${remedy}` : ''} [${code}]`,
    reason: 'Invalid',
  };
}

/** Durations that `parseDurationMs` reads. */
const DURATION = "'^[+-]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$'";

/** CEL: whether the string `value` is a duration. */
export const isDuration = (value: string): string => `${value}.matches(${DURATION})`;

/** @param absent CEL: true where there is no such field, and then only. */
export function durationFormatRule(field: string, value: string, absent: string): AdmissionRule {
  return {
    code: 'value/duration',
    field,
    holds: `${absent} || ${isDuration(value)}`,
    message: { cel: `${shownInCel(value)} + " is no duration"` },
    remedy: 'write it like 500ms, 15s or 1m30s',
  };
}
