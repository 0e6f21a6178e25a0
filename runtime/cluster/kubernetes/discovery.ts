import type { Clock } from '../../lib/clock';
import type { ReadOutcome } from '../outcome';
import type { TargetRef } from '../scaling';
import type { ApiClient } from './api-client';
import { readOutcomeOf } from './outcome-of';
import type { Resource } from './watched-resources';

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[];
}

interface Known {
  readonly atMs: number;
  readonly names: ReadonlyMap<string, string>;
  readonly all: ReadonlySet<string>;
}

/** A group that lacks a kind is asked again after this time: its CustomResourceDefinition may be new. */
const RETRY_MS = 10_000;

/** Where the API keeps kinds that policies name, as it says itself. */
export class Discovery {
  private readonly groups = new Map<string, Known>();

  constructor(
    private readonly client: ApiClient,
    private readonly clock: Clock,
  ) {}

  /** The resource of a target, when it has a `/scale`. */
  async scalable({ apiVersion, kind }: Pick<TargetRef, 'apiVersion' | 'kind'>): Promise<ReadOutcome<Resource>> {
    const known = this.groups.get(apiVersion);
    const plural = known?.names.get(kind);
    if (known !== undefined && plural !== undefined && known.all.has(`${plural}/scale`)) return found(apiVersion, kind, plural);
    if (known !== undefined && this.clock.monotonic() - known.atMs < RETRY_MS) return unscalable(apiVersion, kind);
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const asked = readOutcomeOf(await this.client.request({ method: 'GET', path }), (body) => body as ResourceList);
    if (asked.kind === 'gone') return unscalable(apiVersion, kind);
    if (asked.kind !== 'found') return asked;
    const resources = asked.value.resources ?? [];
    const names = new Map(resources.filter(({ name }) => !name.includes('/')).map(({ name, kind: of }) => [of, name]));
    const all = new Set(resources.map(({ name }) => name));
    this.groups.set(apiVersion, { atMs: this.clock.monotonic(), names, all });
    const now = names.get(kind);
    return now !== undefined && all.has(`${now}/scale`) ? found(apiVersion, kind, now) : unscalable(apiVersion, kind);
  }
}

function found(apiVersion: string, kind: string, plural: string): ReadOutcome<Resource> {
  return { kind: 'found', value: { apiVersion, kind, plural } };
}

function unscalable(apiVersion: string, kind: string): ReadOutcome<never> {
  return {
    kind: 'invalid',
    message: `${kind} of ${apiVersion} cannot be scaled: the cluster has no such kind, or it has no /scale`,
  };
}
