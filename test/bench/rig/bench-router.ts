import { readFileSync, writeFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getTls } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { buildSync } from 'esbuild';
import type { RunningProxy } from './bench-nginx';
import { type BenchProcesses, PROXY_CPU, portOf, ROOT, type StartOptions } from './bench-processes';

export interface BenchRouterOptions extends StartOptions {
  /** YAML of the cluster's objects. */
  readonly objects: string;
  /** The router's configuration document. @default every default: index, metrics and access log on */
  readonly config?: { readonly tls?: object; readonly [section: string]: unknown };
}

export interface RunningBenchRouter extends RunningProxy {
  /** Where its `/metrics` are. */
  readonly metricsPort: number;
  /** The file it reads its cluster from; what is written there it sees. */
  readonly objectsFile: string;
}

let started = 0;

/** Starts the router as its image does: bundled, with the image's flags of Node. @throws when it is not ready within ten seconds. */
export async function startBenchRouter(processes: BenchProcesses, options: BenchRouterOptions): Promise<RunningBenchRouter> {
  const number = ++started;
  const file = (name: string): string => join(processes.folder, `${number}-${name}`);
  const objectsFile = file('objects.yaml');
  writeFileSync(objectsFile, options.objects);
  writeFileSync(file('config.json'), JSON.stringify(options.config ?? {}));
  const listen = ['--listen', '--metrics-listen', '--debug-listen'].flatMap((flag) => [flag, '127.0.0.1:0']);
  const program = bundled(processes, 'runtime/router/main.ts');
  const args = ['--cluster', objectsFile, '--config', file('config.json'), ...listen];
  const flags = [...imageNodeFlags('router'), ...(options.nodeFlags ?? [])];
  const child = processes.start(PROXY_CPU, process.execPath, [...flags, program, ...args], options);
  const [port, metricsPort] = await Promise.all([
    portOf(child, /"listen":"127\.0\.0\.1:(\d+)"/),
    portOf(child, /"metrics":"127\.0\.0\.1:(\d+)"/),
  ]);
  await whenReady(port, options.config?.tls !== undefined);
  return { child, pid: child.pid!, port, metricsPort, objectsFile };
}

async function whenReady(port: number, isEncrypted: boolean): Promise<void> {
  const options = { port, host: '127.0.0.1', path: '/readyz', agent: false, rejectUnauthorized: false };
  for (let attempt = 0; attempt < 200; attempt++) {
    const status = await new Promise<number>((resolve) => {
      const request = (isEncrypted ? getTls : getPlain)(options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', () => resolve(0));
    });
    if (status === 200) return;
    await wait(50);
  }
  throw new Error(`the router at port ${port} is not ready`);
}

/** Bundles a program as images are: run from TypeScript, every closure would pay for the loader's bookkeeping of names. */
export function bundled(processes: BenchProcesses, module: string): string {
  const outfile = join(processes.folder, `${module.replaceAll('/', '-')}.js`);
  buildSync({
    entryPoints: [join(ROOT, module)],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'error',
  });
  return outfile;
}

/** Flags that an image gives to Node. */
export function imageNodeFlags(image: 'router' | 'autoscaler'): readonly string[] {
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(join(ROOT, 'images', image, 'Dockerfile'), 'utf8'));
  return (JSON.parse(entrypoint![1]!) as string[]).filter((word) => word.startsWith('--'));
}

/** Model `m`, served by pods of one port at 127.0.0.1 and the addresses after it. @param uids of the pods. @default one pod */
export function engineObjects(enginePort: number, uids: readonly string[] = ['engine-0']): string {
  const server = `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: {name: engine, namespace: default}
spec: {model: m, inferenceEngine: vLLM, workloadSelector: {matchLabels: {app: engine}}, workloadPort: {port: ${enginePort}}}
---
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: {name: m, namespace: default}
spec: {modelName: m, rules: [{name: all, targetModels: [{modelServerName: engine}]}]}
`;
  const pods = uids.map(
    (uid, index) => `apiVersion: v1
kind: Pod
metadata: {name: engine-${index}, namespace: default, uid: ${uid}, labels: {app: engine}}
spec: {containers: [{name: engine, image: engine}]}
status: {phase: Running, podIP: 127.0.0.${index + 1}, conditions: [{type: Ready, status: 'True'}]}
`,
  );
  return [server, ...pods].join('---\n');
}
