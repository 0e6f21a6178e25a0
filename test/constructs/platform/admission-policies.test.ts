import { Chart } from 'cdk8s';
import { AdmissionPolicies, Cluster, GitOpsApp, type KthenaPresence } from '../../../constructs';
import { ADMISSION_RULES } from '../../../constructs/platform/admission-policies';
import type { AdmissionRule } from '../../../constructs/platform/admission-rule';
import { synth } from '../../../constructs/testing';
import { ADMISSION_CASES } from '../../helpers/admission/admission-cases';
import { allPolicies, hashOf, readAdmissionRecording } from '../../helpers/admission/admission-recording';
import { expectAgreement } from '../../helpers/admission/expect-agreement';
import { coreObjectProblems } from '../../helpers/core-object-problems';

const recording = readAdmissionRecording();
const objects = allPolicies();

const made = (kthena: KthenaPresence, action?: 'Deny' | 'Warn') => {
  const app = new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.30', kthena }) });
  return synth(new AdmissionPolicies(new Chart(app, 'c'), 'a', { action }));
};

describe('AdmissionPolicies', () => {
  it.each(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object] as const))(
    'makes %s of the core API',
    (_, object) => {
      expect(coreObjectProblems(object)).toEqual([]);
    },
  );

  it.each(['Deny', 'Warn'] as const)('binds each policy to %s', (action) => {
    const policies = made('absent', action);
    const bindings = policies.ofKind('ValidatingAdmissionPolicyBinding');
    expect(bindings.map(({ spec }) => spec)).toEqual(
      policies
        .ofKind('ValidatingAdmissionPolicy')
        .map(({ metadata }) => ({ policyName: metadata.name, validationActions: [action] })),
    );
    expect(bindings).toHaveLength(5);
  });

  it('covers the kinds that only Kthena brings where its workload controller is', () => {
    const names = (kthena: KthenaPresence) =>
      made(kthena)
        .ofKind('ValidatingAdmissionPolicy')
        .map(({ metadata }) => metadata.name);
    expect(names('workload')).toEqual([...names('absent'), 'modelservings.kvasir.dev', 'modelboosters.kvasir.dev']);
    expect(names('networking')).toEqual(names('absent'));
  });

  it('says nothing of fields that the definitions of Kthena do not have', () => {
    const text = (kthena: KthenaPresence) => JSON.stringify(made(kthena).ofKind('ValidatingAdmissionPolicy'));
    expect(text('absent')).toContain('object.spec.schedules');
    expect(text('workload')).not.toMatch(/spec\.(schedules|slo)\b/);
  });
});

describe('the rules in CEL, as a real API server applied them', () => {
  it('are those that were recorded; if not, record them again with RECORD_ADMISSION=1 npm run test:cluster -- admission', () => {
    expect(recording.policies).toBe(hashOf(objects));
    expect(Object.keys(recording.answers)).toEqual(ADMISSION_CASES.map(({ name }) => name));
  });

  it.each(ADMISSION_CASES.map((tried) => [tried.name, tried] as const))('judge %s as TypeScript does', (name, tried) => {
    expectAgreement(tried, recording.answers[name]!);
  });

  it('each have a case that breaks them', () => {
    const answers = Object.values(recording.answers);
    const rules: readonly AdmissionRule[] = Object.values(ADMISSION_RULES).flat();
    const untried = rules.filter(({ field, code, message }) => {
      const says = typeof message === 'string' ? message : '';
      const place = new RegExp(`(: |// )${field.replaceAll(/[.[\]]/g, '\\$&').replace('*', '[^ :]+')}: `);
      return !answers.some(
        (answer) => answer !== null && place.test(answer) && answer.includes(`[${code}]`) && answer.includes(says),
      );
    });
    expect(untried.map(({ field, code }) => `${field} ${code}`)).toEqual([]);
  });
});
