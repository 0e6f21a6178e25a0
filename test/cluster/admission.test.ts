import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { ADMISSION_RULES } from '../../constructs/platform/admission-policies';
import { type ApiKind, apiKindOf, apiKinds } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import { normalize } from '../../src/api/normalize';
import type { AdmissionCase } from '../helpers/admission/admission-case';
import { ADMISSION_CASES } from '../helpers/admission/admission-cases';
import {
  admissionObjects,
  allPolicies,
  hashOf,
  isPolicy,
  readAdmissionRecording,
  writeAdmissionRecording,
} from '../helpers/admission/admission-recording';
import { expectAgreement } from '../helpers/admission/expect-agreement';
import { largeObjects } from '../helpers/admission/large-objects';
import { disaggregatedPolicy, modelRoute, modelServer, modelServing, withField, withFields } from '../helpers/api-objects';
import { kthenaExamples } from '../helpers/kthena-examples';
import { hasControlPlane, openTestCluster, type TestCluster } from './control-plane';
import { allDefinitions } from './definitions';
import { KubeAdmin } from './kube-admin';

const describeHere = hasControlPlane() ? describe : describe.skip;

const KINDS = Object.keys(ADMISSION_RULES) as ApiKind[];
const NAMESPACE: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'models' } };
const CASES = new Map(ADMISSION_CASES.map((tried) => [tried.name, tried]));

interface Policy extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: { readonly expressionWarnings?: readonly object[] };
  };
}

interface Answer {
  readonly status: number;
  /** What it was refused with, or null. */
  readonly refusal: string | null;
  readonly body: KubeObject & { readonly spec?: object };
}

describeHere('admission at a Kubernetes API server', () => {
  let plane: TestCluster;
  let admin: KubeAdmin;
  const answers = new Map<string, Answer>();
  const policies = allPolicies();
  /** Objects that break a rule, from before there were policies. */
  const older = {
    route: withFields(modelRoute, { 'metadata.name': 'older', 'metadata.finalizers': ['test/kept'], 'spec.loraAdapters': [''] }),
    foreign: withFields(modelRoute, {
      'metadata.name': 'foreign',
      'metadata.labels': { 'kvasir.dev/class': 'other' },
      'spec.loraAdapters': [''],
    }),
    policy: withFields(disaggregatedPolicy, { 'metadata.name': 'older', 'spec.disaggregatedTarget.roles.decode.minReplicas': 5 }),
  };
  const updated = withField(modelRoute, 'metadata.name', 'updated');
  const serving = withFields(modelServing, {
    'metadata.name': 'scaled',
    'spec.rolloutStrategy': { rollingUpdateConfiguration: { maxUnavailable: '50%' } },
  });

  beforeAll(async () => {
    plane = await openTestCluster();
    admin = new KubeAdmin(plane.credentials);
    await admin.apply(...allDefinitions(), ...admissionObjects('absent').filter((object) => !isPolicy(object)));
    await admin.apply(NAMESPACE, ...Object.values(older));
    // Only what the controller knows the kind of is type-checked.
    await Promise.all(KINDS.map((kind) => typesAreKnown(admin, kind)));
    await admin.apply(...policies);
    await Promise.all(KINDS.map((kind) => isEnforced(admin, kind)));
    await admin.apply(serving);
    for (const { name, object } of ADMISSION_CASES) answers.set(name, await attempt(admin, object));
  }, 600_000);

  afterAll(async () => {
    await admin?.remove(...policies, serving, updated, ...Object.values(older)).catch(() => undefined);
    admin?.close();
    await plane?.close();
  }, 60_000);

  it.each([...CASES])('%s', (name, tried) => {
    expectAgreement(tried, answers.get(name)!.refusal);
  });

  it('says what was recorded of it', async () => {
    const { body } = (await admin.client.request({ method: 'GET', path: '/version' })) as { body: { gitVersion: string } };
    const recording = {
      version: body.gitVersion,
      policies: hashOf(policies),
      answers: Object.fromEntries([...answers].map(([name, { refusal }]) => [name, refusal])),
    };
    if (process.env.RECORD_ADMISSION !== undefined) writeAdmissionRecording(recording);
    const recorded = readAdmissionRecording();
    // Another version may say the same in other words; that it means the same is tested above.
    expect(recording).toEqual(
      recorded.version === body.gitVersion ? recorded : { ...recorded, version: body.gitVersion, answers: expect.anything() },
    );
  });

  it("takes each of Kthena's examples", async () => {
    for (const { file, object } of kthenaExamples() as readonly { readonly file: string; readonly object: KubeObject }[]) {
      const { refusal } = await attempt(admin, withField(object, 'metadata.namespace', 'models'));
      expect({ file, name: object.metadata.name, refusal }).toEqual({ file, name: object.metadata.name, refusal: null });
    }
  });

  it('finds no wrong type in any expression', async () => {
    const all = (await admin.list<Policy>(POLICY)).filter(({ metadata }) => metadata.name.endsWith('.kvasir.dev'));
    expect(all).toHaveLength(KINDS.length);
    for (const { metadata } of all) await typeChecked(admin, metadata.name);
    const checked = await admin.list<Policy>(POLICY);
    const warnings = checked.flatMap(({ metadata, status }) =>
      (status?.typeChecking?.expressionWarnings ?? []).map((warning) => ({ policy: metadata.name, ...warning })),
    );
    expect(warnings).toEqual([]);
  });

  it('fills in the defaults that are filled in at synth', () => {
    for (const { name, object } of ADMISSION_CASES.filter(({ kind }) => kind === 'accepted')) {
      const { schema } = apiKinds[apiKindOf(object)!];
      const { apiVersion, kind, metadata, ...body } = object as KubeObject & { readonly spec: object };
      const { spec } = normalize(schema, body).value as { readonly spec: object };
      expect({ name, spec: answers.get(name)!.body.spec }).toEqual({ name, spec });
    }
  });

  it.each(Object.entries(largeObjects()))('has the time to judge %s', async (_, object) => {
    expect((await attempt(admin, object)).refusal).toBeNull();
  });

  it('refuses an update as it refuses a new object', async () => {
    await admin.apply(updated);
    await expect(admin.apply(withField(updated, 'spec.loraAdapters', ['']))).rejects.toThrow(
      'spec.loraAdapters[]: "" is no adapter name',
    );
    await expect(admin.apply(withField(updated, 'spec.modelName', 'other'))).rejects.toThrow('modelName is immutable');
    await admin.apply(withField(updated, 'spec.loraAdapters', ['sql']));
  });

  it('lets what broke a rule before there were any be labelled, and mended, but not be changed otherwise', async () => {
    await admin.apply(withField(older.policy, 'metadata.labels', { team: 'a' }));
    await expect(admin.apply(withField(older.policy, 'spec.tolerancePercent', 20))).rejects.toThrow(
      'minReplicas 5 is above maxReplicas 4',
    );
    await admin.apply(withField(older.policy, 'spec.disaggregatedTarget.roles.decode.minReplicas', 1));
  });

  it('judges an object that comes to our class, whose spec was never judged', async () => {
    await expect(admin.apply(withField(older.foreign, 'metadata.labels', { 'kvasir.dev/class': 'kvasir' }))).rejects.toThrow(
      '"" is no adapter name',
    );
    await admin.apply(withField(older.foreign, 'metadata.annotations', { note: 'still not ours' }));
  });

  it('leaves the status and scale subresources alone', async () => {
    const path = `${rootOf('ModelServing')}/scaled/scale`;
    const scaled = await admin.client.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { spec: { replicas: 0 } },
    });
    // Of the object itself 50% of 0 replicas would be refused.
    expect(scaled).toMatchObject({ status: 200 });
    expect(await admin.get(serving)).toMatchObject({ spec: { replicas: 0 } });
    const again = { ...serving, spec: { ...(serving.spec as object), replicas: 0, recoveryPolicy: 'None' } };
    await expect(admin.apply(again)).rejects.toThrow('"50%" of 0 replicas is 0');
    const status = await admin.client.request({
      method: 'PATCH',
      path: `${rootOf('ModelRoute')}/older/status`,
      contentType: 'application/merge-patch+json',
      body: { status: {} },
    });
    expect(status).toMatchObject({ status: 200 });
  });

  it('does not stand in the way of a deletion, nor of the finalizers that hold it up', async () => {
    const path = `${rootOf('ModelRoute')}/older`;
    await admin.client.request({ method: 'DELETE', path });
    expect(await admin.get(older.route)).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } });
    const freed = await admin.client.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { metadata: { finalizers: null } },
    });
    expect(freed).toMatchObject({ status: 200 });
    await admin.until('the route is gone', async () => (await admin.get(older.route)) === undefined);
  });

  it('only warns where that is wanted', async () => {
    const binding = policies.find(
      ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicyBinding' && metadata.name === 'modelservers.kvasir.dev',
    )!;
    const bad = withFields(modelServer, { 'metadata.name': 'warned', 'spec.workloadSelector.matchLabels': {} });
    await admin.apply(withField(binding, 'spec.validationActions', ['Warn']));
    await admin.until('the server is let in', async () => (await attempt(admin, bad)).status === 201);
    await admin.apply(binding);
    await admin.until('the server is refused', async () => (await attempt(admin, bad)).status === 422);
  });

  it("holds over Kthena's own definitions, whose types it fits too", async () => {
    const theirs = admissionObjects('both').filter(isPolicy);
    await admin.remove(...policies);
    await admin.apply(...KTHENA_DEFINITIONS);
    const kinds = KINDS.filter((kind) => kind !== 'AutoscalingPolicyBinding');
    await Promise.all(kinds.map((kind) => typesAreKnown(admin, kind)));
    await admin.apply(...theirs);
    await Promise.all(kinds.map((kind) => isEnforced(admin, kind)));
    const warnings = await Promise.all(kinds.map((kind) => typeChecked(admin, `${apiKinds[kind].plural}.kvasir.dev`)));
    expect(warnings.flat()).toEqual([]);
    const extended = ({ object }: AdmissionCase): boolean => /"(slo|schedules|sessionAffinity)":/.test(JSON.stringify(object));
    for (const tried of ADMISSION_CASES) {
      if (tried.object.kind === 'AutoscalingPolicyBinding' || extended(tried)) continue;
      const { refusal } = await attempt(admin, tried.object);
      expect({ name: tried.name, isRefused: refusal !== null }).toEqual({
        name: tried.name,
        isRefused: tried.kind === 'refused',
      });
    }
  }, 120_000);
});

const POLICY = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' };

const KTHENA_DEFINITIONS = KINDS.filter((kind) => kind !== 'AutoscalingPolicyBinding').map((kind) => {
  const { apiVersion, plural } = apiKinds[kind];
  const file = join(__dirname, `../fixtures/crds/kthena/${apiVersion.split('/')[0]}_${plural}.yaml`);
  return parse(readFileSync(file, 'utf8')) as KubeObject;
});

const rootOf = (kind: ApiKind): string => `/apis/${apiKinds[kind].apiVersion}/namespaces/models/${apiKinds[kind].plural}`;

/** Creates `object`, except that nothing is kept. */
async function attempt(admin: KubeAdmin, object: KubeObject): Promise<Answer> {
  const kind = apiKindOf(object)!;
  const answer = await admin.client.request({ method: 'POST', path: rootOf(kind), query: { dryRun: 'All' }, body: object });
  if (answer.kind !== 'answered') throw new Error(answer.message);
  const body = answer.body as Answer['body'] & { readonly message: string };
  return { status: answer.status, refusal: answer.status === 201 ? null : body.message, body };
}

/** Waits until the policy of `kind` is in force; each comes into force by itself, some seconds after it is there. */
async function isEnforced(admin: KubeAdmin, kind: ApiKind): Promise<void> {
  const { plural } = apiKinds[kind];
  const refused = ADMISSION_CASES.filter((tried) => tried.kind === 'refused' && tried.object.kind === kind);
  for (let i = 0; ; i++) {
    // Of some the definition itself is broken.
    const { refusal } = await attempt(admin, refused[i % refused.length]!.object);
    if (refusal?.includes(`'${plural}.kvasir.dev'`)) return;
    if (i === 3000) throw new Error(`the policy of ${plural} is not in force`);
    await pause(10);
  }
}

/** Waits until the types of a policy are checked. @returns what is wrong with them. */
async function typeChecked(admin: KubeAdmin, name: string): Promise<readonly object[]> {
  let warnings: readonly object[] = [];
  await admin.until(`${name} is type-checked`, async () => {
    const policy = await admin.get<Policy>({ ...POLICY, metadata: { name } } as Policy);
    warnings = policy?.status?.typeChecking?.expressionWarnings ?? [];
    return policy?.status?.observedGeneration === policy?.metadata.generation;
  });
  return warnings;
}

/** Waits until a wrong type in a policy of `kind` is found: the controller hears of new kinds late, and is silent about those it does not know. */
async function typesAreKnown(admin: KubeAdmin, kind: ApiKind): Promise<void> {
  const { apiVersion, plural } = apiKinds[kind];
  const [group, version] = apiVersion.split('/');
  const name = `probe-${plural}`;
  for (let tries = 0; ; tries++) {
    const probe = {
      ...POLICY,
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [group], apiVersions: [version], operations: ['CREATE'], resources: [plural] }],
        },
        validations: [{ expression: `object.spec.neverThere == ${tries}` }],
      },
    };
    await admin.apply(probe);
    const warnings = await typeChecked(admin, name);
    if (warnings.length > 0) {
      await admin.remove(probe);
      return;
    }
    if (tries === 200) throw new Error(`the types of ${kind} are not checked`);
    await pause(250);
  }
}
