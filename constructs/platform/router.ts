import { ApiObject, Chart } from 'cdk8s';
import type { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import type { ExternalModelProviderManifest } from '../../src/api/external-model-provider';
import { decodeRouterConfig, defaultRouterConfig, type RouterConfig } from '../../src/config/router-config';
import { restartDocument } from '../../src/config/router-reload';
import type { Finding } from '../../src/errors';
import { Labels, NETWORKING_GROUP } from '../../src/labels';
import { addCheck } from '../check';
import { ExternalModelProvider } from '../external-model-provider';
import type { RawDeployment } from '../kube/deployment';
import { ModelRoute } from '../model-route';
import { objectName } from '../object-name';
import { stackContext } from '../stack-context';
import { PodOverride } from '../workload/pod-override';
import { grantAccess, READ } from './access';
import type { DeepPartial } from './deep-partial';
import { checkedConfig, createImageDeployment } from './image-deployment';
import { REQUEST_PORT } from './ports';
import { Redis } from './redis';
import { type RedisServer, redisFiles, redisSection } from './redis-server';
import { noteRouterAccount } from './router-accounts';
import { type ApiKeyOptions, authAccess, authFiles, authSection, authWarnings, type TokenOptions } from './router-auth';
import { guardrailFiles, guardrailSection, type RouterGuardrail } from './router-guardrail';
import { createSiblingService, type RouterReplication, replicationFiles, replicationSection } from './router-replication';
import { type EngineTls, type RouterTls, tlsFiles, tlsSections } from './router-tls';
import { SecretAccess } from './secret-access';
import { readWorkloads } from './workload-access';

export interface RouterProps {
  /** Name of the objects. @default 'kvasir-router' */
  readonly name?: string;
  /** @default `<images.registry>/kvasir-router:<images.tag>` of the app */
  readonly image?: string;
  /** Copies; each serves on its own. @default 2 */
  readonly replicas?: number;
  /** The configuration document; fields that are left out keep the image's defaults. @default none set */
  readonly config?: DeepPartial<Omit<RouterConfig, 'redis' | 'replication'>>;
  /**
   * Redis that holds what the copies share, such as the counters of limits. Its password and certificates are mounted from Secrets in the
   * namespace of the router.
   *
   * @default none: each copy counts for itself
   */
  readonly redis?: RedisServer;
  /**
   * The copies tell each other what they send where, so that they decide as one: through `redis` where it is given, else from pod to pod,
   * found by a headless Service. A new copy takes over what the others know of caches.
   *
   * @default each copy knows its own requests only
   */
  readonly replication?: RouterReplication;
  /** Takes tokens of an issuer, and refuses requests without credentials. @default no tokens are taken */
  readonly jwt?: TokenOptions;
  /** Takes API keys from Secrets, and refuses requests without credentials. @default no keys are taken */
  readonly apiKeys?: ApiKeyOptions;
  /**
   * Namespaces whose Secrets the router may all read, for ExternalModelProviders that no construct makes: rights cannot ask for a label.
   *
   * @default none: an ExternalModelProvider construct grants the one Secret that it names
   */
  readonly secretNamespaces?: readonly string[];
  /** Serves requests over TLS, as HTTP/2 or HTTP/1.1, on port 443 of the Service instead of 80. @default plain HTTP/1.1 */
  readonly tls?: RouterTls;
  /** Certificates for engines whose ModelServer says https. @default the public authorities, showing nothing */
  readonly engineTls?: EngineTls;
  /** Asks a service of yours about prompts and answers. @default nobody is asked */
  readonly guardrail?: RouterGuardrail;
  /** CPU request of one copy. @default '1' */
  readonly cpu?: string;
  /** Memory request and limit of one copy: the body budget, the prefix index, and connections. @default '2Gi' */
  readonly memory?: string;
}

const DEFAULT_REPLICAS = 2;
/** Time to close after the last stream was cut. */
const CLOSE_SECONDS = 10;

/**
 * L2: the router, OpenAI-compatible in front of all models. Creates a Deployment, a Service on port 80, a ConfigMap, a
 * PodDisruptionBudget, and read-only rights on routes, servers and pods, and on the Secrets with API keys by name. Those of providers are
 * granted by ExternalModelProvider. Everybody who reaches it may ask, unless `jwt` or `apiKeys` says who.
 *
 * @example
 * const router = new Router(system, 'router', { replicas: 3, cpu: '2', config: { accessLog: { format: 'json' } } });
 * router.pod.merge({ priorityClassName: 'system-cluster-critical' });
 */
export class Router extends Construct {
  /** Labels that a Secret with API keys must carry. For the template that makes the Secret. */
  static readonly apiKeySecretLabels: Readonly<Record<string, string>> = { [Labels.apiKeys]: 'true' };

  readonly name: string;
  readonly deployment: RawDeployment;
  readonly service: k8s.KubeService;
  /** The configuration that the image will have, defaults included. */
  readonly config: RouterConfig;
  /** Absent when the copies share nothing. */
  readonly redis: RedisServer | undefined;
  /** Adds to the pods. */
  readonly pod = new PodOverride();

  constructor(scope: Construct, id: string, props: RouterProps = {}) {
    super(scope, id);
    this.name = objectName(this, props.name ?? 'kvasir-router');
    this.redis = props.redis;
    const namespace = Chart.of(this).namespace ?? 'default';
    const auth = authSection(props.config?.auth, props.jwt, props.apiKeys, namespace);
    const { redis, replication, guardrail } = props;
    const config = {
      document: {
        ...props.config,
        ...auth,
        ...tlsSections(props.config, props.tls, props.engineTls),
        ...(guardrail === undefined ? {} : guardrailSection(props.config, guardrail)),
        ...(redis === undefined ? {} : sharedSections(redis, props)),
        ...(replication === undefined ? {} : replicationSection(this, this.name, redis)),
      },
      decode: decodeRouterConfig,
      defaultConfig: defaultRouterConfig,
    };
    this.config = checkedConfig(this, config);
    addCheck(this, () => (stackContext(this).cluster.kthenaServesRoutes ? [FOREIGN_ROUTER] : []));
    const { drain, tls } = this.config;
    // Probes go to the metrics port then: they have no certificate, and know no authority.
    const probes = tls === undefined ? 'http' : 'metrics';
    addCheck(this, () => authWarnings(this.config.auth, namespace));
    addCheck(this, () => [...redisOfOthers(this), ...unknownRedis(this)]);

    grantAccess(
      this,
      this.name,
      [
        { group: NETWORKING_GROUP, resources: ['modelroutes', 'modelservers', 'externalmodelproviders'], verbs: READ },
        { group: '', resources: ['pods'], verbs: READ },
        // A request for a model that sleeps is held and told to the autoscaler: all that the router writes.
        ...readWorkloads(this),
        { group: 'coordination.k8s.io', resources: ['leases'], verbs: ['create', 'patch'] },
      ],
      authAccess(this.config.auth, namespace),
    );
    const account = { name: this.name, namespace };
    noteRouterAccount(this, account);
    for (const each of props.secretNamespaces ?? []) {
      new SecretAccess(this, `Secrets-${each}`, { name: `${this.name}-secrets`, namespace: each, readers: () => [account] });
    }
    addCheck(this, () => unreadCredentials(this, props.secretNamespaces ?? []));
    const made = createImageDeployment(this, {
      ...config,
      restartPart: restartDocument,
      name: this.name,
      part: 'router',
      image: props.image,
      replicas: props.replicas ?? DEFAULT_REPLICAS,
      args: ['--listen', `0.0.0.0:${REQUEST_PORT}`],
      ports: [
        tls === undefined
          ? { name: 'http', port: 80, containerPort: REQUEST_PORT }
          : { name: 'https', port: 443, containerPort: REQUEST_PORT, appProtocol: 'https' },
      ],
      files: [
        ...(redis === undefined ? [] : redisFiles(redis)),
        ...authFiles(props.jwt),
        ...tlsFiles(props.tls, props.engineTls),
        ...(guardrail === undefined ? [] : guardrailFiles(guardrail)),
        ...(replication === undefined ? [] : [replicationFiles(replication)]),
      ],
      readiness: { path: '/readyz', port: probes },
      liveness: { path: '/healthz', port: probes },
      terminationGracePeriodSeconds: Math.ceil((drain.announceMs + drain.timeoutMs) / 1000) + CLOSE_SECONDS,
      cpu: props.cpu ?? '1',
      memory: props.memory ?? '2Gi',
      pod: this.pod,
    });
    this.deployment = made.deployment;
    this.service = made.service;
    if (replication !== undefined && redis === undefined) createSiblingService(this, this.name);
  }
}

/** What the copies share: each counts up to its part of it while Redis is away. */
function sharedSections(redis: RedisServer, { replicas = DEFAULT_REPLICAS, config }: RouterProps): DeepPartial<RouterConfig> {
  return { redis: redisSection(redis), rateLimit: { replicas, ...config?.rateLimit } };
}

/** Credentials of providers that no construct made, so that nobody granted their Secrets. */
function unreadCredentials(router: Router, namespaces: readonly string[]): readonly Finding[] {
  const unread = new Map<string, string>();
  for (const construct of router.node.root.node.findAll()) {
    if (!ApiObject.isApiObject(construct) || construct.kind !== 'ExternalModelProvider') continue;
    if (construct.node.scope instanceof ExternalModelProvider) continue;
    const { metadata, spec } = construct.toJson() as ExternalModelProviderManifest;
    const { namespace = 'default', name } = metadata;
    if (spec.auth !== undefined && !namespaces.includes(namespace)) unread.set(`${namespace}/${name}`, namespace);
  }
  return [...unread]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([provider, namespace]) => ({
      code: 'router/unreadable-secrets',
      severity: 'warning',
      field: 'secretNamespaces',
      message: `lacks ${namespace}, so that the router may not read the credential of ExternalModelProvider ${provider}, which no construct made`,
      remedy: `add ${namespace}, or make the provider by an ExternalModelProvider construct`,
    }));
}

/** A Redis of another namespace: pods mount Secrets of their own namespace only. */
function redisOfOthers(router: Router): readonly Finding[] {
  const { redis } = router;
  if (!(redis instanceof Redis)) return [];
  const [theirs, ours] = [redis, router].map((construct) => Chart.of(construct).namespace ?? 'default');
  if (theirs === ours) return [];
  return [
    {
      code: 'redis/secret-elsewhere',
      severity: 'info',
      field: 'redis',
      message: `takes its password from Secret ${redis.password.name} in namespace ${ours}, and Redis ${redis.name} from that in ${theirs}`,
      remedy: 'create the Secret in both, with one password',
    },
  ];
}

/** Routes that count in a Redis whose password or certificate the router is not given. */
function unknownRedis(router: Router): readonly Finding[] {
  const asked = new Map<string, ModelRoute>();
  for (const construct of router.node.root.node.findAll()) {
    const { sharedIn } = construct instanceof ModelRoute ? construct : {};
    if (sharedIn === undefined || sharedIn.address === router.redis?.address) continue;
    if (sharedIn.password !== undefined || sharedIn.tls !== undefined) asked.set(sharedIn.address, construct as ModelRoute);
  }
  return [...asked]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([address, route]) => ({
      code: 'routing/redis-not-given',
      severity: 'warning',
      field: 'redis',
      message: `is not ${address}, in which ModelRoute ${route.name} counts, so that the router has neither its password nor its certificate`,
      remedy: 'give the router that Redis too',
    }));
}

const FOREIGN_ROUTER = {
  code: 'coexistence/router',
  severity: 'error',
  message: "Kthena's router serves every ModelRoute of this cluster, these too",
  remedy: "leave the router out, or say kthena: 'absent' or 'workload' in Cluster.of",
} as const;
