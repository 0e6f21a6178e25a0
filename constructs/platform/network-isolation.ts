import { Construct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';
import { mayMatch, podTemplatesOf } from '../../src/checks/pod-templates';
import type { Finding } from '../../src/errors';
import { addCheck } from '../check';
import { DownloadJob } from '../download-job';
import { KubeNetworkPolicy, type NetworkPeer, type NetworkPolicySpec } from '../kube/network-policy';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { Autoscaler } from './autoscaler';
import { type EngineDoors, engineDoors } from './engine-doors';
import { engineHabits, enginesUnder, type IsolatedEngines, objectsUnder } from './isolated-engines';
import { hostNetwork, madeTooEarly, uncovered, unknownStore, usesHostNetwork } from './isolation-findings';
import { destinationOf, type HostPort, siblingPorts } from './network-destination';
import {
  addresses,
  allow,
  DEFAULT_DENY,
  type Egress,
  INTERNET,
  type Ingress,
  PRIVATE_RANGES,
  podsIn,
  tcp,
} from './network-flows';
import { constructsUnder, engineKey, namespaceOf, type OpenEngines, type Part, type Peers, peersUnder } from './network-peers';
import { METRICS_PORT, REDIS_PORT, REQUEST_PORT } from './ports';
import { Redis } from './redis';
import { Router } from './router';
import { externalRedis, outsideOf } from './router-destinations';
import { WorkloadIndex } from './workload-index';

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
  /**
   * Where ExternalModelProviders and the keys of token issuers are that have no address in the cluster: public addresses, or CIDRs. Only
   * routers that have one of them may go there, on the ports of their URLs.
   *
   * @default 'internet'
   */
  readonly outside?: 'internet' | readonly string[];
  /** KV stores of LMCache whose URLs are in Secrets. @default none; those of literal URLs are known */
  readonly kvStores?: readonly { readonly to: readonly NetworkPeer[]; readonly ports: readonly number[] }[];
}

const DEFAULT_PROMETHEUS = { namespace: 'monitoring', podLabels: { 'app.kubernetes.io/name': 'prometheus' } };
const DEFAULT_API_SERVER = { cidrs: PRIVATE_RANGES, ports: [443, 6443] };

/**
 * L2: closes one namespace, that of its chart, but for what the platform needs. Creates a NetworkPolicy that denies everything except
 * DNS, and one for each router, autoscaler, Redis, ModelServer and download Job in the namespace. Ports are those of the ModelServers,
 * which have them from the engines' flags. Create it after them, one per namespace.
 *
 * @example
 * new NetworkIsolation(models, 'isolation', { downloads: ['10.20.0.0/16'] });
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
    const workloads = new WorkloadIndex(objectsUnder(this.node.root));
    this.policy('DefaultDeny', `${name}-default-deny`, () => {
      // Rendered first in each synth: the others share what is found now, since a walk for each would take long with many models.
      this.seen = peersUnder(this.node.root);
      return DEFAULT_DENY;
    });
    for (const part of this.parts) this.policy(part.name, `${name}-${part.name}`, () => this.flowsOf(part));
    for (const engines of this.engines) {
      const { group, downloads } = engineHabits(engines, workloads.of(engines));
      const outside = (): readonly Egress[] => this.storesAndDownloads(this.opened(engines), downloads);
      this.policy(`server-${engines.name}`, `${name}-server-${engines.name}`, () =>
        allow(engines.labels, this.callersOf(this.opened(engines)), group === undefined ? outside() : []),
      );
      if (group === undefined) continue;
      // NCCL, UCX and Mooncake choose ports of their own.
      const peers: NetworkPeer[] = [{ podSelector: { matchLabels: group } }];
      this.policy(`group-${engines.name}`, `${name}-group-${engines.name}`, () =>
        allow(group, [{ from: peers }], [{ to: peers }, ...outside()]),
      );
    }
    for (const { resource } of constructsUnder(this.node.root, DownloadJob)) {
      if (namespaceOf(resource) !== this.namespace) continue;
      const job = resource.toJson() as KubeObject;
      const [labels = {}] = podTemplatesOf(job);
      this.policy(`job-${resource.name}`, `${name}-job-${resource.name}`, () =>
        allow(labels as Record<string, string>, [], this.downloadFlows(engineDoors([job]))),
      );
    }
    addCheck(this, () => this.check());
  }

  private policy(id: string, name: string, spec: NetworkPolicySpec | (() => NetworkPolicySpec)): void {
    this.policies.push(new KubeNetworkPolicy(this, id, { metadata: { name, labels: ownedLabels() }, spec }));
  }

  private flowsOf(part: Part): NetworkPolicySpec {
    const labels = { app: part.name };
    const { cidrs, ports } = this.props.apiServer ?? DEFAULT_API_SERVER;
    const apiServer = { to: addresses(cidrs), ports: tcp(...ports) };
    const { routers, autoscalers, redis, engines } = this.peers();
    if (part instanceof Redis) return allow(labels, [{ from: routers, ports: tcp(REDIS_PORT) }], []);
    if (part instanceof Autoscaler) {
      const toRouters = { to: routers, ports: tcp(METRICS_PORT) };
      const toEngines = [...engines.values()].map((each) => flowTo(each, each.agentPorts, each.metricPorts));
      const metrics = { from: this.prometheus(), ports: tcp(METRICS_PORT) };
      return allow(labels, [metrics], [apiServer, ...toEngines, toRouters, ...this.prometheusQueries()]);
    }
    const { clients, outside = 'internet' } = this.props;
    const requests = { ...(clients === undefined ? {} : { from: clients }), ports: tcp(REQUEST_PORT) };
    const metrics = { from: [...this.prometheus(), ...autoscalers], ports: tcp(METRICS_PORT) };
    const siblings = [podsIn(this.namespace, labels)];
    const replication = siblingPorts(labels, this.namespace, this.peers().objects);
    return allow(
      labels,
      [requests, metrics, { from: siblings, ports: replication }],
      [
        apiServer,
        ...[...engines.values()].map((each) => flowTo(each, each.bootstrapPorts, each.agentPorts)),
        { to: redis, ports: tcp(REDIS_PORT) },
        ...externalRedis(part, this.node.root, this.peers().objects),
        { to: siblings, ports: replication },
        ...outsideOf(part, this.peers().objects, outside === 'internet' ? [INTERNET] : addresses(outside)),
      ],
    );
  }

  /** Who may call the pods of a server: those who send requests, who read metrics, and who ask agents and bootstrap servers. */
  private callersOf({ port, bootstrapPorts, agentPorts, metricPorts }: OpenEngines): readonly Ingress[] {
    const { routers, autoscalers } = this.peers();
    const others = [...autoscalers, ...this.prometheus()];
    return [
      { from: [...routers, ...others, ...(this.props.engineClients ?? [])], ports: tcp(port) },
      { from: routers, ports: tcp(...bootstrapPorts) },
      { from: [...routers, ...others], ports: tcp(...agentPorts) },
      { from: others, ports: tcp(...metricPorts) },
    ];
  }

  /** Stores through which KV cache travels, and where models come from. */
  private storesAndDownloads(engines: OpenEngines, downloads: boolean): readonly Egress[] {
    const { kvStores = [] } = this.props;
    const stores = engines.stores.map((store) => this.destination(store, addresses(PRIVATE_RANGES)));
    const secret = engines.hasSecretStore ? kvStores.map(({ to, ports }) => ({ to, ports: tcp(...ports) })) : [];
    return [...(downloads ? this.downloadFlows(engines) : []), ...stores, ...secret];
  }

  private downloadFlows({ endpoints }: Pick<EngineDoors, 'endpoints'>): readonly Egress[] {
    const peers = this.downloadPeers();
    return [{ to: peers, ports: tcp(443) }, ...endpoints.map((endpoint) => this.destination(endpoint, peers))];
  }

  private destination(host: HostPort, elsewhere: readonly NetworkPeer[]): Egress {
    return destinationOf(host, this.namespace, this.peers().objects, elsewhere);
  }

  private opened(engines: IsolatedEngines): OpenEngines {
    return this.peers().engines.get(engineKey(engines))!;
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
    for (const object of this.peers().objects) {
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
    // Renders the first one too, so that what others share is of now.
    const [, ...policies] = this.policies.map((policy) => (policy.toJson() as { readonly spec: NetworkPolicySpec }).spec);
    const covered = policies.map(({ podSelector }) => podSelector.matchLabels ?? {});
    const unknown = this.props.kvStores === undefined ? this.engines.filter((each) => this.opened(each).hasSecretStore) : [];
    return [
      ...unknown.map(unknownStore),
      ...this.peers()
        .workloads.in(this.namespace)
        .flatMap(({ object, templates }): readonly Finding[] => {
          if (usesHostNetwork(object)) return [hostNetwork(object)];
          return templates.every((labels) => covered.some((wanted) => mayMatch(labels, wanted))) ? [] : [uncovered(object)];
        }),
    ];
  }
}

/** What a part of the platform may reach of a server: its engines, and more ports of their pods. */
function flowTo({ namespace, labels, port }: OpenEngines, ...more: readonly (readonly number[])[]): Egress {
  return { to: [podsIn(namespace, labels)], ports: tcp(port, ...more.flat()) };
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
