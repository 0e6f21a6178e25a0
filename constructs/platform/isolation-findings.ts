import type { KubeObject } from '../../src/api/meta';
import type { Finding } from '../../src/errors';
import type { IsolatedEngines } from './isolated-engines';

export const madeTooEarly = (names: readonly string[]): Finding => ({
  code: 'isolation/made-too-early',
  severity: 'error',
  message: `${names.join(', ')} came after it and would be cut off`,
  remedy: 'create NetworkIsolation last in its namespace',
});

export const unknownStore = ({ name }: IsolatedEngines): Finding => ({
  code: 'isolation/unknown-store',
  severity: 'warning',
  field: 'kvStores',
  message: `is missing, and the pods of ModelServer ${name} have the address of their KV store from a Secret, so that they cannot reach it`,
  remedy: 'say where it is, or give [] when another policy does',
});

export const hostNetwork = ({ kind, metadata }: KubeObject): Finding => ({
  code: 'isolation/host-network',
  severity: 'warning',
  message: `the pods of ${kind} ${metadata.name} use the network of their node, which policies neither close nor open`,
  remedy: 'take hostNetwork out, or guard the node and acknowledge it',
});

export const uncovered = ({ kind, metadata }: KubeObject): Finding => ({
  code: 'isolation/uncovered',
  severity: 'info',
  message: `the pods of ${kind} ${metadata.name} may only resolve names, since no ModelServer selects them`,
  remedy: 'add a NetworkPolicy for what they need',
});

/** Whether a pod spec anywhere in `object` says so. */
export function usesHostNetwork(object: object): boolean {
  return Object.entries(object).some(
    ([key, value]) =>
      (key === 'hostNetwork' && value === true) || (typeof value === 'object' && value !== null && usesHostNetwork(value)),
  );
}
