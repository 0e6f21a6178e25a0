import type { BoosterBackend, BoosterWorker } from '../../api/model-booster';
import { parseQuantity } from '../../quantity';
import { modelPath } from './cache';
import { compareBytes, goPrint } from './go-print';
import type { BoosterSettings } from './settings';

/** Ray's start script, by its place in vLLM's image. */
const RAY_SCRIPT = 'examples/online_serving/multi-node-serving.sh';
const NVIDIA_GPU = 'nvidia.com/gpu';
const DEVICES = [NVIDIA_GPU, 'huawei.com/ascend-1980'] as const;

/** vLLM's connector class → what its image lacks. A class that is not named here comes with the image. */
const INSTALLS: Readonly<Record<string, string>> = {
  MooncakeConnector: 'pip install mooncake-transfer-engine',
  NixlConnector: 'PIP_DISABLE_PIP_VERSION_CHECK=1 pip install -U --no-cache-dir nixl',
};

/** Settings of a worker: engine flag → value. */
export function workerConfig({ config }: BoosterWorker): Readonly<Record<string, unknown>> {
  return typeof config === 'object' && config !== null ? (config as Record<string, unknown>) : {};
}

/** Arguments that a worker's settings are: by key, `_` as `-`, a flag alone where the value is empty. */
export function engineFlags(worker: BoosterWorker): readonly string[] {
  return Object.entries(workerConfig(worker))
    .sort(([a], [b]) => compareBytes(a, b))
    .flatMap(([key, value]) => {
      const flag = `--${key.replaceAll('_', '-')}`;
      const text = goPrint(value);
      return text === '' ? [flag] : [flag, text];
    });
}

/** What the engine container of a worker runs. Several pods start Ray first, in a shell, as Kthena does: joined without quotes. */
export function engineCommand(backend: BoosterBackend, worker: BoosterWorker, settings: BoosterSettings): readonly string[] {
  const engine = ['python3', '-m', 'vllm.entrypoints.openai.api_server', '--model', modelPath(backend), ...engineFlags(worker)];
  const started = startsRay(worker)
    ? rayScript(`leader --ray_cluster_size=${worker.pods} --num-gpus=${deviceCount(worker)}`, [
        ...engine,
        '--distributed_executor_backend',
        'ray',
      ])
    : engine;
  const install = installOf(backend, worker, settings);
  return install === undefined ? started : ['bash', '-c', `${install} && ${started.join(' ')}`];
}

/** What a Ray worker of a multi-node engine runs. */
export function rayWorkerCommand(): readonly string[] {
  return rayScript('worker --ray_address=$(ENTRY_ADDRESS)', []);
}

/** Whether a shell splits the engine's arguments again. */
export function startsInShell(backend: BoosterBackend, worker: BoosterWorker, settings: BoosterSettings): boolean {
  return startsRay(worker) || installOf(backend, worker, settings) !== undefined;
}

const startsRay = ({ type, pods = 0 }: BoosterWorker): boolean => type === 'server' && pods > 1;

/** The command that installs a worker's transfer library first, if its image lacks it: on NVIDIA GPUs, unless it is switched off. */
export function installOf(backend: BoosterBackend, worker: BoosterWorker, settings: BoosterSettings): string | undefined {
  const hasGpu = backend.workers.some(({ resources }) => amountOf(resources?.limits?.[NVIDIA_GPU]) > 0);
  if (!hasGpu || settings.skipsInstall) return undefined;
  const connector = connectorClass(workerConfig(worker)['kv-transfer-config']);
  return Object.hasOwn(INSTALLS, connector) ? INSTALLS[connector] : undefined;
}

function rayScript(mode: string, next: readonly string[]): readonly string[] {
  const start = `chmod u+x ${RAY_SCRIPT} && ${RAY_SCRIPT} ${mode}`;
  return ['bash', '-c', next.length === 0 ? start : `${start} && ${next.join(' ')}`];
}

function deviceCount({ resources }: BoosterWorker): number {
  return DEVICES.reduce((sum, name) => sum + amountOf(resources?.limits?.[name]), 0);
}

/** Whole units of a quantity, rounded up as Kubernetes does. */
function amountOf(quantity: string | number | undefined): number {
  return quantity === undefined ? 0 : Math.ceil(parseQuantity(quantity) ?? 0);
}

function connectorClass(config: unknown): string {
  if (typeof config !== 'string') return '';
  try {
    const { kv_connector: connector } = JSON.parse(config) as { readonly kv_connector?: unknown };
    return typeof connector === 'string' ? connector : '';
  } catch {
    return '';
  }
}
