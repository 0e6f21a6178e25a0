import { Chart } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { mirroredImage } from '../images';
import { RawDeployment } from '../kube/deployment';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import type { SecretRef } from '../secret-ref';
import { stackContext } from '../stack-context';
import { PodOverride } from '../workload/pod-override';
import { containerSecurity } from '../workload/pod-security';
import type { PodTemplate } from '../workload/pod-template';
import { ExternalRedis, type ExternalRedisOptions } from './external-redis';
import { REDIS_PORT } from './ports';
import type { RedisServer } from './redis-server';

export interface RedisProps {
  /** Name of the objects. @default 'kvasir-redis' */
  readonly name?: string;
  /** Password that clients must give, from a Secret in the same namespace. */
  readonly password: SecretRef;
  /** @default 'redis:7.2.5' */
  readonly image?: string;
  /** Memory that the data may take, in MiB. At the limit, the keys that end soonest go first. @default 256 */
  readonly memoryMiB?: number;
}

/** User of the stock image. */
const USER = 999;

/**
 * L2: a small Redis for counters that routers share. Creates a Deployment of one replica and a Service. Nothing is written to disk: after
 * a restart, counting begins anew. For more, run one elsewhere and describe it with `Redis.external`.
 *
 * @example
 * const redis = new Redis(system, 'redis', { password: SecretRef.existing('redis', 'password') });
 * new ModelRoute(models, 'limited')
 *   .splitTraffic([{ server: qwen.server }])
 *   .limitTokens({ inputTokens: 1_000_000, per: 'minute', sharedIn: redis });
 */
export class Redis extends Construct implements RedisServer {
  /**
   * A Redis that somebody else runs, to be given wherever a `Redis` is. Creates nothing.
   *
   * @throws RangeError when the address is not `host:port`.
   */
  static external(options: ExternalRedisOptions): ExternalRedis {
    return ExternalRedis.of(options);
  }

  readonly name: string;
  /** What clients must give; the Secret lies in the namespace of this construct, and in that of each client. */
  readonly password: SecretRef;
  readonly deployment: RawDeployment;
  readonly service: k8s.KubeService;
  /** Adds to the pods. */
  readonly pod = new PodOverride();

  constructor(scope: Construct, id: string, props: RedisProps) {
    super(scope, id);
    this.name = objectName(this, props.name ?? 'kvasir-redis');
    this.password = props.password;
    const selector = { app: this.name };
    const labels = ownedLabels(selector);
    const image = mirroredImage(props.image ?? 'redis:7.2.5', stackContext(this).images);
    this.deployment = new RawDeployment(this, 'Resource', {
      metadata: { name: this.name, labels },
      spec: () => ({
        replicas: 1,
        selector: { matchLabels: selector },
        // Two at a time would count apart.
        strategy: { type: 'Recreate' },
        progressDeadlineSeconds: 600,
        revisionHistoryLimit: 3,
        template: this.pod.apply(redisPod(selector, image, props)),
      }),
    });
    this.service = new k8s.KubeService(this, 'Service', {
      metadata: { name: this.name, labels },
      spec: {
        selector,
        ports: [{ name: 'redis', port: REDIS_PORT, targetPort: k8s.IntOrString.fromString('redis'), protocol: 'TCP' }],
      },
    });
  }

  /** `host:port` under which every namespace of the cluster reaches it. */
  get address(): string {
    return `${this.name}.${Chart.of(this).namespace ?? 'default'}.svc:${REDIS_PORT}`;
  }
}

function redisPod(
  labels: Readonly<Record<string, string>>,
  image: string,
  { password, memoryMiB = 256 }: RedisProps,
): PodTemplate {
  const probe = { tcpSocket: { port: k8s.IntOrString.fromString('redis') } };
  // Redis takes up to half again for connections and fragmentation.
  const memory = k8s.Quantity.fromString(`${Math.ceil(memoryMiB * 1.5) + 32}Mi`);
  const template: k8s.PodTemplateSpec = {
    metadata: { labels, annotations: {} },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'redis',
          image,
          command: ['redis-server'],
          args: [
            // The kubelet fills the variable in; Redis hides its arguments from the process list.
            ...['--requirepass', '$(REDIS_PASSWORD)', '--port', String(REDIS_PORT)],
            ...['--save', '', '--appendonly', 'no'],
            ...['--maxmemory', `${memoryMiB}mb`, '--maxmemory-policy', 'volatile-ttl'],
          ],
          env: [{ name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: password.name, key: password.key } } }],
          ports: [{ name: 'redis', containerPort: REDIS_PORT, protocol: 'TCP' }],
          resources: {
            requests: { cpu: k8s.Quantity.fromString('100m'), memory },
            limits: { memory },
          },
          readinessProbe: { ...probe, periodSeconds: 5, timeoutSeconds: 3 },
          livenessProbe: { ...probe, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
          securityContext: containerSecurity({}),
        },
      ],
    },
  };
  return k8s.toJson_PodTemplateSpec(template) as PodTemplate;
}
