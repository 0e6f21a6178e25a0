import { ADMISSION_RULES } from '../../../constructs/platform/admission-policies';
import type { AdmissionRule } from '../../../constructs/platform/admission-rule';
import { validateManifests } from '../../../runtime/cli/validate/validate-manifests';
import type { KubeObject } from '../../../src/api/meta';
import type { Finding } from '../../../src/errors';
import type { AdmissionCase } from './admission-case';

const rules: readonly AdmissionRule[] = Object.values(ADMISSION_RULES).flat();
/** Codes of rules that the API server words itself: it says why something cannot be computed. */
const computed = new Set(rules.flatMap((rule) => ('computes' in rule ? [rule.code] : [])));

/** What `kvasir validate`, by the checks of synth, refuses of an object, of what concerns itself. Files of other classes are no less wrong. */
function errorsOf(object: KubeObject): readonly Finding[] {
  if (object.metadata.labels?.['kvasir.dev/class'] === 'other') return [];
  const { open } = validateManifests({ objects: [{ object, file: 'f', line: 1 }], findings: [] });
  return open.filter(({ severity, code }) => severity === 'error' && !/\/missing-/.test(code));
}

/** Expects of `kvasir validate` and of an API server that both do with an object what the case says, for the same reason. @param answer null: accepted. */
export function expectAgreement(tried: AdmissionCase, answer: string | null): void {
  const errors = errorsOf(tried.object);
  if (tried.kind === 'accepted') {
    expect({ errors, answer }).toEqual({ errors: [], answer: null });
    return;
  }
  expect(answer).toContain(tried.says);
  expect(errors.map(({ field }) => field)).toContain(tried.field);
  expect(isAt(tried.field, saidField(answer!))).toBe(true);
  if (!answer!.includes('ValidatingAdmissionPolicy')) return;
  const { message, remedy, code } = errors.find(({ field }) => field === tried.field)!;
  expect(answer).toContain(`[${code}]`);
  if (computed.has(code)) return;
  // Roles of a policy come in no order in CEL, so that it cannot list them.
  const inCel = code === 'autoscaling/ratio-roles' ? 'use one of its roles' : remedy;
  expect(answer).toContain(`: ${message}; ${inCel} [${code}]`);
}

/** The first field that an answer names. */
const saidField = (answer: string): string => /(?:^|[ .[])((?:spec|metadata)[\w.[\]"*/-]*)/.exec(answer)?.[1] ?? '';

/** Whether `said` is `field` or what it is in, list positions left aside. */
function isAt(field: string, said: string): boolean {
  const [whole, part] = [segmentsOf(field), segmentsOf(said)];
  return part.length > 0 && part.every((segment, i) => segment === '*' || segment === whole[i]);
}

const segmentsOf = (path: string): readonly string[] =>
  path.split(/[.[\]"]+/).filter((part) => part !== '' && !/^\d+$/.test(part));
