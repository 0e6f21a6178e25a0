import type { BoosterBackend } from '../../api/model-booster';
import type { EnvVar } from '../../api/pod';

/** Variables of a backend that reach the downloader; all others have to come to it through `envFrom`. */
const FOR_DOWNLOADER = ['ENDPOINT', 'HF_ENDPOINT', 'MS_TOKEN', 'MS_REVISION'] as const;

const fromField = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });

const fromRedisConfig = (name: string): EnvVar => ({
  name,
  valueFrom: { configMapKeyRef: { name: 'redis-config', key: name, optional: true } },
});

/** What every engine and runtime container gets after the backend's own variables. */
const STANDARD: readonly EnvVar[] = [
  fromField('POD_NAME', 'metadata.name'),
  fromField('NAMESPACE', 'metadata.namespace'),
  { name: 'VLLM_USE_V1', value: '1' },
  fromRedisConfig('REDIS_HOST'),
  fromRedisConfig('REDIS_PORT'),
  { name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'redis-secret', key: 'REDIS_PASSWORD', optional: true } } },
];

const OFFLINE: EnvVar = { name: 'HF_HUB_OFFLINE', value: '1' };

const ADDED = {
  server: [],
  prefill: [OFFLINE, fromField('HCCL_IF_IP', 'status.podIP')],
  decode: [
    OFFLINE,
    { name: 'GLOO_SOCKET_IFNAME', value: 'eth0' },
    { name: 'TP_SOCKET_IFNAME', value: 'eth0' },
    { name: 'HCCL_SOCKET_IFNAME', value: 'eth0' },
  ],
} as const satisfies Readonly<Record<string, readonly EnvVar[]>>;

/** A role whose engine answers requests. */
export type EngineRole = keyof typeof ADDED;

/** Environment of a role's engine and runtime container. */
export function engineEnv({ env = [] }: BoosterBackend, role: EngineRole): readonly EnvVar[] {
  return [...env, ...addedEnv(role)];
}

/** What is added to a backend's own variables; a backend that repeats one of these names makes pods that no API server takes. */
export function addedEnv(role: EngineRole): readonly EnvVar[] {
  return [...STANDARD, ...ADDED[role]];
}

/** Environment of the container that downloads the model: a few variables, and only those with a literal value. */
export function downloaderEnv({ env = [] }: BoosterBackend): readonly EnvVar[] {
  return FOR_DOWNLOADER.flatMap((name) => env.filter((variable) => variable.name === name).slice(0, 1)).filter(
    ({ value = '' }) => value !== '',
  );
}
