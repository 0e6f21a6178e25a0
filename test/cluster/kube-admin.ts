import { setTimeout as pause } from 'node:timers/promises';
import { type ApiAnswer, ApiClient } from '../../runtime/cluster/kubernetes/api-client';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { messageOf } from '../../runtime/cluster/kubernetes/outcome-of';
import { CLUSTER_SCOPED_KINDS } from '../../src/api/cluster-scoped-kinds';
import type { KubeObject } from '../../src/api/meta';
import { describeObject } from '../../src/api/meta';
import { tokenCredentials } from './control-plane';

/** What an administrator does to a cluster with kubectl. Every call throws when the API refuses it. */
export class KubeAdmin {
  readonly client: ApiClient;
  private readonly plurals = new Map<string, ReadonlyMap<string, string>>();

  /** @param fieldManager as whom it applies. */
  constructor(
    private readonly credentials: Credentials,
    private readonly fieldManager = 'test',
  ) {
    this.client = new ApiClient(credentials);
  }

  /**
   * Server-side apply, as `kubectl apply --server-side --force-conflicts`, which takes no field that the kind does not have.
   * CustomResourceDefinitions go first, and are waited for until their objects can be listed, which takes the API server a moment.
   *
   * @returns the objects as they are then.
   */
  async apply(...objects: readonly KubeObject[]): Promise<readonly KubeObject[]> {
    const applied = new Map<KubeObject, KubeObject>();
    const isDefinition = ({ kind }: KubeObject): boolean => kind === 'CustomResourceDefinition';
    const definitions = objects.filter(isDefinition);
    for (const object of definitions) applied.set(object, await this.applyOne(object));
    await Promise.all(definitions.map((definition) => this.served(definition as unknown as Definition)));
    for (const object of objects) if (!isDefinition(object)) applied.set(object, await this.applyOne(object));
    return objects.map((object) => applied.get(object)!);
  }

  /** Deletes objects and waits until they are gone, and what they own with them. Those that are not there are gone already. */
  async remove(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const answer = await this.client.request({
        method: 'DELETE',
        path: await this.pathOf(object),
        // Workloads go after their pods. The garbage collector takes half a minute to hear of kinds with a new definition.
        query: { propagationPolicy: object.apiVersion.startsWith('apps/') ? 'Foreground' : 'Background' },
      });
      if (answer.kind === 'answered' && answer.status === 404) continue;
      okay(answer, `delete ${describeObject(object)}`);
    }
    for (const object of objects) {
      await this.until(`${describeObject(object)} is gone`, async () => (await this.get(object)) === undefined);
    }
  }

  /** Takes away what keeps objects from going, where the controllers that would do so are not there. */
  async letGo(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const answer = await this.client.request({
        method: 'PATCH',
        path: await this.pathOf(object),
        contentType: 'application/merge-patch+json',
        body: { metadata: { finalizers: null } },
      });
      okay(answer, `let go of ${describeObject(object)}`);
    }
  }

  async get<T extends KubeObject>(object: T): Promise<T | undefined> {
    const answer = await this.client.request({ method: 'GET', path: await this.pathOf(object) });
    if (answer.kind === 'answered' && answer.status === 404) return undefined;
    return okay<T>(answer, `get ${describeObject(object)}`);
  }

  async list<T extends KubeObject>(
    { apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>,
    query: Readonly<Record<string, string>> = {},
  ): Promise<readonly T[]> {
    const answer = await this.client.request({
      method: 'GET',
      path: `${rootOf(apiVersion)}/${await this.plural(apiVersion, kind)}`,
      query,
    });
    return okay<{ readonly items: readonly T[] }>(answer, `list ${kind}`).items.map((item) => ({ ...item, apiVersion, kind }));
  }

  /** Credentials of a ServiceAccount, made when it is not there. */
  async serviceAccount(namespace: string, name: string): Promise<Credentials> {
    await this.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } });
    const answer = await this.client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
    });
    const { status } = okay<{ readonly status: { readonly token: string } }>(answer, `token of ${name}`);
    return { ...tokenCredentials({ server: this.credentials.server, token: status.token }), namespace };
  }

  /** Waits for what `holds` asks for, at most `limitMs`. */
  async until(what: string, holds: () => Promise<boolean> | boolean, limitMs = 30_000): Promise<void> {
    const deadline = performance.now() + limitMs;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what}: not after ${limitMs} ms`);
      await pause(20);
    }
  }

  close(): void {
    this.client.close();
  }

  private async applyOne(object: KubeObject): Promise<KubeObject> {
    const answer = await this.client.request({
      method: 'PATCH',
      path: await this.pathOf(object),
      query: { fieldManager: this.fieldManager, force: 'true', fieldValidation: 'Strict' },
      contentType: 'application/apply-patch+yaml',
      body: object,
    });
    return okay<KubeObject>(answer, `apply ${describeObject(object)}`);
  }

  private async served({ spec: { group, names, versions } }: Definition): Promise<void> {
    this.plurals.clear();
    for (const { name, served } of versions) {
      if (!served) continue;
      await this.until(`${names.plural} can be listed`, async () => {
        const answer = await this.client.request({ method: 'GET', path: `/apis/${group}/${name}/${names.plural}` });
        return answer.kind === 'answered' && answer.status === 200;
      });
    }
  }

  private async pathOf({ apiVersion, kind, metadata }: KubeObject): Promise<string> {
    const place = CLUSTER_SCOPED_KINDS.has(kind) ? '' : `/namespaces/${metadata.namespace ?? 'default'}`;
    return `${rootOf(apiVersion)}${place}/${await this.plural(apiVersion, kind)}/${metadata.name}`;
  }

  private async plural(apiVersion: string, kind: string): Promise<string> {
    for (let tries = 0; ; tries++) {
      const found = this.plurals.get(apiVersion)?.get(kind);
      if (found !== undefined) return found;
      if (tries === 100) throw new Error(`the cluster knows no ${kind} of ${apiVersion}`);
      if (tries > 0) await pause(50);
      const answer = await this.client.request({ method: 'GET', path: rootOf(apiVersion) });
      if (answer.kind !== 'answered' || answer.status !== 200) continue;
      const { resources } = answer.body as { readonly resources: readonly { readonly name: string; readonly kind: string }[] };
      this.plurals.set(
        apiVersion,
        new Map(resources.filter(({ name }) => !name.includes('/')).map(({ name, kind: of }) => [of, name])),
      );
    }
  }
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function okay<T>(answer: ApiAnswer, what: string): T {
  if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer.body as T;
  throw new Error(`${what}: ${messageOf(answer)}`);
}
