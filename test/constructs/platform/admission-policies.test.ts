import { readFileSync } from 'node:fs';
import { Chart } from 'cdk8s';
import { AdmissionPolicies, Cluster, GitOpsApp } from '../../../constructs';
import { ADMISSION_RULES } from '../../../constructs/platform/admission-policies';
import { synth } from '../../../constructs/testing';
import { decodeObject } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import { checkReferences } from '../../../src/checks/references';
import type { Finding } from '../../../src/errors';
import { ADMISSION_CASES } from '../../helpers/admission-cases';
import { coreObjectProblems } from '../../helpers/core-object-problems';
import { ADMISSION_RECORDING, type AdmissionRecording, admissionObjects, hashOf } from '../../helpers/record-admission';

const recording = JSON.parse(readFileSync(ADMISSION_RECORDING, 'utf8')) as AdmissionRecording;
const objects = admissionObjects();
const codes = new Set<string>(Object.values(ADMISSION_RULES).flatMap((rules) => rules.map(({ code }) => code)));

/** What synth and `kvasir validate` say about an object, of what concerns itself. */
function errorsOf(object: KubeObject): readonly Finding[] {
  const decoded = decodeObject(object);
  const around = decoded.kind === 'valid' ? checkReferences([{ object: decoded.value, file: 'f' }]) : [];
  return [...decoded.findings, ...around].filter(({ severity, code }) => severity === 'error' && codes.has(code));
}

describe('AdmissionPolicies', () => {
  it.each(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object] as const))(
    'makes %s of the core API',
    (_, object) => {
      expect(coreObjectProblems(object)).toEqual([]);
    },
  );

  it.each(['Deny', 'Warn'] as const)('binds each policy to %s', (action) => {
    const app = new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.30' }) });
    const made = synth(new AdmissionPolicies(new Chart(app, 'c'), 'a', { action }));
    const bindings = made.ofKind('ValidatingAdmissionPolicyBinding');
    expect(bindings.map(({ spec }) => spec)).toEqual(
      made
        .ofKind('ValidatingAdmissionPolicy')
        .map(({ metadata }) => ({ policyName: metadata.name, validationActions: [action] })),
    );
    expect(bindings).toHaveLength(5);
  });
});

describe('the rules in CEL, as a real API server applied them', () => {
  it('are those that were recorded; if not, record them again with test/helpers/record-admission.ts', () => {
    expect(recording.policies).toBe(hashOf(objects));
    expect(Object.keys(recording.answers)).toEqual(ADMISSION_CASES.map(({ name }) => name));
  });

  it.each(ADMISSION_CASES.map(({ name, object }) => [name, object] as const))('judge %s as TypeScript does', (name, object) => {
    const answer = recording.answers[name]!;
    const isForeign = object.metadata.labels?.['kvasir.dev/class'] === 'other';
    const errors = isForeign ? [] : errorsOf(object);
    if (errors.length === 0) {
      expect(answer).toBeNull();
      return;
    }
    const [{ field, message, remedy, code }] = errors as [Finding];
    // Roles of a policy come in no order in CEL, so that it cannot list them.
    const inCel = code === 'autoscaling/ratio-roles' ? 'use one of its roles' : remedy;
    expect(answer).toContain(`: ${message}; ${inCel} [${code}]`);
    const [said] = /spec[^:]*(?=: )/.exec(answer)!;
    expect(field!.replaceAll(/\[\d+\]/g, '[]').startsWith(said)).toBe(true);
  });

  it('each have a case that breaks them', () => {
    const broken = Object.values(recording.answers).join('\n');
    const untried = Object.values(ADMISSION_RULES).flatMap((rules) =>
      rules.filter(({ field, code, remedy }) => !broken.includes(`: ${field}: `) || !broken.includes(`; ${remedy} [${code}]`)),
    );
    expect(untried.map(({ field, code }) => `${field} ${code}`)).toEqual([]);
  });
});
