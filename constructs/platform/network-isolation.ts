import { Chart } from 'cdk8s';
import { Construct, type IConstruct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';
import { mayMatch, podTemplatesOf } from '../../src/checks/pod-templates';
import type { Finding } from '../../src/errors';
import { addCheck } from '../check';
import { DownloadJob } from '../download-job';
import { KubeNetworkPolicy, type NetworkPeer, type NetworkPolicySpec } from '../kube/network-policy';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { Autoscaler } from './autoscaler';
import { engineHabits, enginesUnder, type IsolatedEngines, objectsUnder, workloadsIn } from './isolated-engines';
import { addresses, allow, DEFAULT_DENY, INTERNET, PRIVATE_RANGES, podsIn, tcp } from './network-flows';
import { METRICS_PORT, REDIS_PORT, REQUEST_PORT } from './ports';
import { Redis } from './redis';
import { Router } from './router';

export interface NetworkIsolationProps {
  /** Beginning of the policies' names. @default 'kvasir' */
  readonly name?: string;
  /** Who may send requests to the router. @default everybody who can reach it */
  readonly clients?: readonly NetworkPeer[];
  /** Others who ask engines, such as Kthena's router or a load test. @default none but the routers and autoscalers of this app */
  readonly engineClients?: readonly NetworkPeer[];
  /** Pods that read metrics, or `false` for none. @default pods with app.kubernetes.io/name=prometheus in namespace monitoring */
  readonly prometheus?: { readonly namespace: string; readonly podLabels: Readonly<Record<string, string>> } | false;
  /** Where the API server is. @default every private address, on ports 443 and 6443 */
  readonly apiServer?: { readonly cidrs: readonly string[]; readonly ports: readonly number[] };
  /**
   * Where engines that do not find their model in the pod may fetch it from, on port 443: public addresses, or the CIDRs of a mirror.
   *
   * @default 'internet'
   */
  readonly downloads?: 'internet' | 'none' | readonly string[];
}

const DEFAULT_PROMETHEUS = { namespace: 'monitoring', podLabels: { 'app.kubernetes.io/name': 'prometheus' } };
const DEFAULT_API_SERVER = { cidrs: PRIVATE_RANGES, ports: [443, 6443] };

/** A part of the platform in the isolated namespace. */
type Part = Router | Autoscaler | Redis;

/**
 * L2: closes one namespace, that of its chart, but for what the platform needs. Creates a NetworkPolicy that denies everything except
 * DNS, and one for each router, autoscaler, Redis, ModelServer and download Job in the namespace. Ports are those of the ModelServers,
 * which have them from the engines' flags. Create it after them, one per namespace.
 */
export class NetworkIsolation extends Construct {
  private readonly parts: readonly Part[];
  private readonly engines: readonly IsolatedEngines[];
  private readonly namespace: string;
  private readonly policies: KubeNetworkPolicy[] = [];
  private seen: Peers | undefined;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: NetworkIsolationProps = {},
  ) {
    super(scope, id);
    const name = objectName(this, props.name ?? 'kvasir');
    this.namespace = namespaceOf(this);
    this.parts = this.localParts();
    this.engines = this.localEngines();
    const workloads = workloadsIn(this.namespace, this.node.root);
    this.policy('DefaultDeny', `${name}-default-deny`, () => {
      // Rendered first in each synth: the others share what is found now, since a walk for each would take long with many models.
      this.seen = peersUnder(this.node.root);
      return DEFAULT_DENY;
    });
    for (const part of this.parts) this.policy(part.name, `${name}-${part.name}`, () => this.flowsOf(part));
    for (const engines of this.engines) {
      const { group, downloads } = engineHabits(engines, workloads);
      const outside = downloads ? [{ to: this.downloadPeers(), ports: tcp(443) }] : [];
      this.policy(`server-${engines.name}`, `${name}-server-${engines.name}`, () =>
        allow(engines.labels, [{ from: this.readers(), ports: tcp(engines.port) }], group === undefined ? outside : []),
      );
      if (group === undefined) continue;
      // NCCL, UCX and Mooncake choose ports of their own.
      const peers: NetworkPeer[] = [{ podSelector: { matchLabels: group } }];
      this.policy(
        `group-${engines.name}`,
        `${name}-group-${engines.name}`,
        allow(group, [{ from: peers }], [{ to: peers }, ...outside]),
      );
    }
    for (const { resource } of constructsUnder(this.node.root, DownloadJob)) {
      if (namespaceOf(resource) !== this.namespace) continue;
      const [labels = {}] = podTemplatesOf(resource.toJson() as KubeObject);
      const download = allow(labels as Record<string, string>, [], [{ to: this.downloadPeers(), ports: tcp(443) }]);
      this.policy(`job-${resource.name}`, `${name}-job-${resource.name}`, download);
    }
    addCheck(this, () => this.check());
  }

  private policy(id: string, name: string, spec: NetworkPolicySpec | (() => NetworkPolicySpec)): void {
    this.policies.push(new KubeNetworkPolicy(this, id, { metadata: { name, labels: ownedLabels() }, spec }));
  }

  private flowsOf(part: Part): NetworkPolicySpec {
    const labels = { app: part.name };
    const metrics = { from: this.prometheus(), ports: tcp(METRICS_PORT) };
    const { cidrs, ports } = this.props.apiServer ?? DEFAULT_API_SERVER;
    const apiServer = { to: addresses(cidrs), ports: tcp(...ports) };
    const { routers, redis, engines } = this.peers();
    if (part instanceof Redis) return allow(labels, [{ from: routers, ports: tcp(REDIS_PORT) }], []);
    const toEngines = engines.map(({ namespace, labels: pods, port }) => ({ to: [podsIn(namespace, pods)], ports: tcp(port) }));
    if (part instanceof Autoscaler) return allow(labels, [metrics], [apiServer, ...toEngines, ...this.prometheusQueries()]);
    const { clients } = this.props;
    const requests = { ...(clients === undefined ? {} : { from: clients }), ports: tcp(REQUEST_PORT) };
    return allow(labels, [requests, metrics], [apiServer, ...toEngines, { to: redis, ports: tcp(REDIS_PORT) }]);
  }

  /** Who asks engines: routers, and who reads their metrics. */
  private readers(): readonly NetworkPeer[] {
    const { routers, autoscalers } = this.peers();
    return [...routers, ...autoscalers, ...this.prometheus(), ...(this.props.engineClients ?? [])];
  }

  private peers(): Peers {
    this.seen ??= peersUnder(this.node.root);
    return this.seen;
  }

  private prometheus(): readonly NetworkPeer[] {
    const { prometheus = DEFAULT_PROMETHEUS } = this.props;
    return prometheus === false ? [] : [podsIn(prometheus.namespace, prometheus.podLabels)];
  }

  /** Policies may scale by queries to a Prometheus: the ports of their URLs. */
  private prometheusQueries(): readonly { readonly to: readonly NetworkPeer[]; readonly ports: ReturnType<typeof tcp> }[] {
    const ports = new Set<number>();
    for (const object of objectsUnder(this.node.root)) {
      if (object.kind !== 'AutoscalingPolicy' && object.kind !== 'AutoscalingPolicyBinding') continue;
      for (const [, url] of JSON.stringify(object).matchAll(/"serverURL":"([^"]+)"/g)) ports.add(portOf(url!));
    }
    return ports.size === 0 ? [] : [{ to: this.prometheus(), ports: tcp(...[...ports].sort((a, b) => a - b)) }];
  }

  private downloadPeers(): readonly NetworkPeer[] {
    const { downloads = 'internet' } = this.props;
    return downloads === 'internet' ? [INTERNET] : addresses(downloads === 'none' ? [] : downloads);
  }

  private localParts(): readonly Part[] {
    const { root } = this.node;
    const parts = [...constructsUnder(root, Router), ...constructsUnder(root, Autoscaler), ...constructsUnder(root, Redis)];
    return parts.filter((part) => namespaceOf(part) === this.namespace);
  }

  private localEngines(): readonly IsolatedEngines[] {
    return enginesUnder(this.node.root).filter(({ namespace }) => namespace === this.namespace);
  }

  private check(): readonly Finding[] {
    const late = [
      ...this.localParts().filter((part) => !this.parts.includes(part)),
      ...this.localEngines().filter(({ name }) => !this.engines.some((known) => known.name === name)),
    ];
    if (late.length > 0) return [madeTooEarly(late.map(({ name }) => name))];
    const [, ...policies] = this.policies.map((policy) => (policy.toJson() as { readonly spec: NetworkPolicySpec }).spec);
    const covered = policies.map(({ podSelector }) => podSelector.matchLabels ?? {});
    return workloadsIn(this.namespace, this.node.root).flatMap(({ object, templates }): readonly Finding[] => {
      if (usesHostNetwork(object)) return [hostNetwork(object)];
      return templates.every((labels) => covered.some((wanted) => mayMatch(labels, wanted))) ? [] : [uncovered(object)];
    });
  }
}

/** Everybody in an app whom policies name. */
interface Peers {
  readonly routers: readonly NetworkPeer[];
  readonly autoscalers: readonly NetworkPeer[];
  readonly redis: readonly NetworkPeer[];
  readonly engines: readonly IsolatedEngines[];
}

function peersUnder(root: IConstruct): Peers {
  return {
    routers: partPeers(constructsUnder(root, Router)),
    autoscalers: partPeers(constructsUnder(root, Autoscaler)),
    redis: partPeers(constructsUnder(root, Redis)),
    engines: enginesUnder(root),
  };
}

function constructsUnder<T extends IConstruct>(root: IConstruct, type: abstract new (...args: never[]) => T): readonly T[] {
  return root.node.findAll().filter((construct): construct is T => construct instanceof type);
}

const madeTooEarly = (names: readonly string[]): Finding => ({
  code: 'isolation/made-too-early',
  severity: 'error',
  message: `${names.join(', ')} came after it and would be cut off`,
  remedy: 'create NetworkIsolation last in its namespace',
});

const hostNetwork = ({ kind, metadata }: KubeObject): Finding => ({
  code: 'isolation/host-network',
  severity: 'warning',
  message: `the pods of ${kind} ${metadata.name} use the network of their node, which policies neither close nor open`,
  remedy: 'take hostNetwork out, or guard the node and acknowledge it',
});

const uncovered = ({ kind, metadata }: KubeObject): Finding => ({
  code: 'isolation/uncovered',
  severity: 'info',
  message: `the pods of ${kind} ${metadata.name} may only resolve names, since no ModelServer selects them`,
  remedy: 'add a NetworkPolicy for what they need',
});

function namespaceOf(construct: IConstruct): string {
  return Chart.of(construct).namespace ?? 'default';
}

function partPeers(parts: readonly Part[]): readonly NetworkPeer[] {
  return parts.map((part) => podsIn(namespaceOf(part), { app: part.name }));
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Whether a pod spec anywhere in `object` says so. */
function usesHostNetwork(object: object): boolean {
  return Object.entries(object).some(
    ([key, value]) =>
      (key === 'hostNetwork' && value === true) || (typeof value === 'object' && value !== null && usesHostNetwork(value)),
  );
}
