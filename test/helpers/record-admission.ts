import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import { Chart } from 'cdk8s';
import { AdmissionPolicies, Cluster, GitOpsApp } from '../../constructs';
import { synth } from '../../constructs/testing';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import { apiKindOf, apiKinds } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import { ADMISSION_CASES } from './admission-cases';

/** What an API server said to each case. */
export interface AdmissionRecording {
  /** Version of the API server. */
  readonly version: string;
  /** Hash of the policies that it had; another one means that they changed since. */
  readonly policies: string;
  /** By case: what it was refused with, or null. */
  readonly answers: Readonly<Record<string, string | null>>;
}

export const ADMISSION_RECORDING = join(__dirname, '../fixtures/admission/answers.json');

/** Everything that AdmissionPolicies makes. */
export function admissionObjects(): readonly KubeObject[] {
  const app = new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.35' }) });
  return synth(new AdmissionPolicies(new Chart(app, 'system'), 'admission')).all;
}

export const hashOf = (objects: readonly KubeObject[]): string =>
  createHash('sha256').update(JSON.stringify(objects)).digest('hex').slice(0, 16);

interface Answer {
  readonly status: number;
  readonly message: string;
}

/**
 * Records what a real API server without other policies says: `API_SERVER=https://127.0.0.1:6443 API_TOKEN=… npx tsx
 * test/helpers/record-admission.ts`. Definitions and policies are left installed; of the cases nothing is.
 */
async function record(server: string, token: string): Promise<AdmissionRecording> {
  const call = (method: string, path: string, body?: object): Promise<Answer & { readonly body: Record<string, unknown> }> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        `${server}${path}`,
        {
          method,
          rejectUnauthorized: false,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        },
        (incoming) => {
          let text = '';
          incoming.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          incoming.on('end', () => {
            const parsed = JSON.parse(text) as Record<string, unknown>;
            resolve({ status: incoming.statusCode ?? 0, message: String(parsed.message ?? ''), body: parsed });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const install = async (path: string, object: KubeObject): Promise<void> => {
    const { status, message } = await call('POST', path, object);
    if (status !== 201 && status !== 409) throw new Error(`${object.kind} ${object.metadata.name}: ${message}`);
  };
  const attempt = (object: KubeObject): Promise<Answer> => {
    const { apiVersion, plural } = apiKinds[apiKindOf(object)!];
    return call('POST', `/apis/${apiVersion}/namespaces/${object.metadata.namespace}/${plural}?dryRun=All`, object);
  };

  for (const definition of customResourceDefinitions) {
    await install('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  }
  await install('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'models' } });
  const policies = admissionObjects();
  for (const object of policies) {
    const plural =
      object.kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings';
    await install(`/apis/admissionregistration.k8s.io/v1/${plural}`, object);
  }
  // Policies come into force after some seconds, each by itself.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const answers: Record<string, string | null> = {};
  for (const { name, object } of ADMISSION_CASES) {
    const { status, message } = await attempt(object);
    answers[name] = status === 201 ? null : message;
  }
  const { body } = await call('GET', '/version');
  return { version: String(body.gitVersion), policies: hashOf(policies), answers };
}

if (require.main === module) {
  void record(process.env.API_SERVER!, process.env.API_TOKEN!).then((recording) => {
    mkdirSync(dirname(ADMISSION_RECORDING), { recursive: true });
    writeFileSync(ADMISSION_RECORDING, `${JSON.stringify(recording, undefined, 2)}\n`);
  });
}
