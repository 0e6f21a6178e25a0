import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chart } from 'cdk8s';
import { Cluster, GitOpsApp, InferencePlatform, type KthenaPresence } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { KubeObject } from '../../../src/api/meta';

/** What an API server said to each case. */
export interface AdmissionRecording {
  /** Version of the API server. */
  readonly version: string;
  /** Hash of the policies that it had; another one means that they changed since. */
  readonly policies: string;
  /** By case: what it was refused with, or null. */
  readonly answers: Readonly<Record<string, string | null>>;
}

const FILE = join(__dirname, '../../fixtures/admission/answers.json');

export const readAdmissionRecording = (): AdmissionRecording => JSON.parse(readFileSync(FILE, 'utf8')) as AdmissionRecording;

export function writeAdmissionRecording(recording: AdmissionRecording): void {
  writeFileSync(FILE, `${JSON.stringify(recording, undefined, 2)}\n`);
}

/** What a platform with admission makes of policies, and of definitions when they are its own. */
export function admissionObjects(kthena: KthenaPresence): readonly KubeObject[] {
  const app = new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.35', kthena }) });
  const platform = new InferencePlatform(new Chart(app, 'system'), 'platform', {
    router: false,
    autoscaler: false,
    admission: {},
  });
  return synth(platform).all;
}

export const isPolicy = ({ kind }: KubeObject): boolean => kind.startsWith('ValidatingAdmissionPolicy');

/** The policies of Kvasir's own kinds, and of those that only Kthena's controllers bring. */
export function allPolicies(): readonly KubeObject[] {
  const own = admissionObjects('absent').filter(isPolicy);
  const names = new Set(own.map(({ metadata }) => metadata.name));
  return [...own, ...admissionObjects('workload').filter((object) => isPolicy(object) && !names.has(object.metadata.name))];
}

export const hashOf = (objects: readonly KubeObject[]): string =>
  createHash('sha256').update(JSON.stringify(objects)).digest('hex').slice(0, 16);
