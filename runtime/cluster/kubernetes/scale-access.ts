import type { KubeObject } from '../../../src/api/meta';
import { Labels } from '../../../src/labels';
import { GROUP_OF_KIND } from '../kinds';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { Scale, Scaling, TargetRef } from '../scaling';
import type { ApiRequests } from './api-client';
import type { Discovery } from './discovery';
import { readOutcomeOf, writeOutcomeOf } from './outcome-of';
import { scalablePath } from './scalable-path';
import { resourcePath, watchedResource } from './watched-resources';

/** An autoscaling/v1 Scale. Zeroes are left out on the wire. */
interface ScaleObject extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

interface RoledWorkload extends KubeObject {
  readonly spec?: { readonly template?: { readonly roles?: readonly { readonly name: string }[] } };
}

/** Replicas over the API: `/scale` for whole targets, a guarded patch for the roles of a ModelServing, which have no `/scale`. */
export class ScaleAccess implements Scaling {
  constructor(
    private readonly client: ApiRequests,
    private readonly discovery: Discovery,
  ) {}

  async read(target: TargetRef): Promise<ReadOutcome<Scale>> {
    const path = await scalablePath(this.discovery, target, 'scale');
    if (path.kind !== 'found') return path;
    const answer = await this.client.request({ method: 'GET', path: path.value });
    const outcome = readOutcomeOf(answer, (body) => body as ScaleObject);
    if (outcome.kind !== 'found') return outcome;
    const { metadata, spec, status } = outcome.value;
    const selector = selectorOf(target, status?.selector ?? '');
    if (selector === undefined) {
      const message = `the selector ${status?.selector} of ${target.kind} ${target.name} is no list of key=value`;
      return { kind: 'invalid', message };
    }
    return {
      kind: 'found',
      value: {
        uid: metadata.uid!,
        desired: spec?.replicas ?? 0,
        actual: status?.replicas ?? 0,
        selector,
        version: metadata.resourceVersion!,
      },
    };
  }

  async set(target: TargetRef, replicas: number, version: string): Promise<WriteOutcome> {
    const path = await scalablePath(this.discovery, target, 'scale');
    if (path.kind !== 'found') return path;
    const { namespace, name } = target;
    const body = {
      apiVersion: `${GROUP_OF_KIND.HorizontalPodAutoscaler}/v1`,
      kind: 'Scale',
      metadata: { name, namespace, resourceVersion: version },
      spec: { replicas },
    };
    return writeOutcomeOf(await this.client.request({ method: 'PUT', path: path.value, body }), [version]);
  }

  async setRoles(target: TargetRef, replicas: Readonly<Record<string, number>>, version: string): Promise<WriteOutcome> {
    const path = resourcePath(watchedResource('ModelServing'), target.namespace, target.name);
    const current = readOutcomeOf(await this.client.request({ method: 'GET', path }), (body) => body as RoledWorkload);
    if (current.kind !== 'found') return current;
    if (current.value.metadata.resourceVersion !== version) return { kind: 'conflict' };
    const roles = current.value.spec?.template?.roles ?? [];
    const missing = Object.keys(replicas).find((name) => !roles.some((role) => role.name === name));
    if (missing !== undefined) return { kind: 'invalid', message: `ModelServing ${target.name} has no role ${missing}` };
    const body = [
      // Refused as a conflict when somebody wrote in between, so that the positions below are those of this version.
      { op: 'replace', path: '/metadata/resourceVersion', value: version },
      ...roles.flatMap(({ name }, index) =>
        replicas[name] === undefined
          ? []
          : [{ op: 'add', path: `/spec/template/roles/${index}/replicas`, value: replicas[name] }],
      ),
    ];
    const contentType = 'application/json-patch+json';
    return writeOutcomeOf(await this.client.request({ method: 'PATCH', path, body, contentType }), [version]);
  }
}

/** Only entries of a ModelServing's role instances serve and are measured; its own selector, when it says one, names workers too. */
function selectorOf({ kind, name }: TargetRef, selector: string): Readonly<Record<string, string>> | undefined {
  if (kind === 'ModelServing') return { [Labels.modelServingName]: name, [Labels.modelServingEntry]: 'true' };
  const requirements = selector.split(',').filter((requirement) => requirement !== '');
  const pairs = requirements.map((requirement) => /^([^=!\s]+)==?([^=\s]*)$/.exec(requirement.trim()));
  if (pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]));
}
