/**
 * CPU time per request of the router, against nginx proxying the same: 1 KB JSON bodies, 64 connections, an engine that answers at
 * once. Fails when the router needs more than four times as much as nginx.
 *
 * Run:   npx tsx test/bench/router-cpu.bench.ts [--seconds 4] [--rounds 3] [--max-ratio 4]
 * Needs: Linux, and `nginx` and `wrk` from the system's packages (Debian: apt-get install nginx-light wrk).
 *
 * Four processes: wrk (one thread), nginx (one process, keep-alive to the upstream, logs off) or the router (access log off), and the
 * engine (raw sockets). The proxy has one CPU, load and engine share another: else most of what is measured is the cost of waking an idle
 * CPU, which a slow proxy pays at each write and a fast one seldom. CPU time is user plus system time of nginx's or the router's process from /proc/PID/stat, so a busy machine
 * changes both alike; rounds alternate, and the medians are compared.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSync } from 'esbuild';

const ROOT = join(__dirname, '..', '..');
const CONNECTIONS = 64;
const PROXY_CPU = 0;
const LOAD_CPU = 1;
const BODY_BYTES = 1024;
const SETTLE_SECONDS = 1;
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(200) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 240, completion_tokens: 50, total_tokens: 290 },
});

interface Round {
  readonly requests: number;
  readonly cpuMicrosPerRequest: number;
  readonly requestsPerSecond: number;
}

/** Ticks per second of /proc/PID/stat; 100 on every Linux that Node runs on. */
const CLOCK_TICKS = 100;

function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

/** Flags that the image gives to Node. */
function imageNodeFlags(): readonly string[] {
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(join(ROOT, 'images/router/Dockerfile'), 'utf8'));
  return (JSON.parse(entrypoint![1]!) as string[]).filter((word) => word.startsWith('--'));
}

function wrkScript(): string {
  const padding = 'x'.repeat(BODY_BYTES - 80);
  const body = JSON.stringify({ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: padding }] });
  return [
    'wrk.method = "POST"',
    `wrk.body = '${body}'`,
    'wrk.headers["Content-Type"] = "application/json"',
    'function done(summary, latency, requests)',
    '  local e = summary.errors',
    '  io.write(string.format("RESULT %d %d\\n", summary.requests, e.connect + e.read + e.write + e.status + e.timeout))',
    'end',
  ].join('\n');
}

/** A command bound to one CPU, where the machine has two. */
function pinned(cpu: number, command: string, args: readonly string[]): readonly [string, string[]] {
  return availableParallelism() < 2 ? [command, [...args]] : ['taskset', ['-c', String(cpu), command, ...args]];
}

function load(port: number, script: string, seconds: number): Promise<{ requests: number; errors: number }> {
  return new Promise((resolve, reject) => {
    const url = `http://127.0.0.1:${port}/v1/chat/completions`;
    const wrk = spawn('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    wrk.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    wrk.on('error', reject);
    wrk.on('close', () => {
      const match = /RESULT (\d+) (\d+)/.exec(text);
      if (match === null) reject(new Error(`wrk said: ${text}`));
      else resolve({ requests: Number(match[1]), errors: Number(match[2]) });
    });
  });
}

async function round(pid: number, port: number, script: string, seconds: number): Promise<Round> {
  // What the kernel took back from an idle process (young generations are large) comes back before the clock starts.
  await load(port, script, SETTLE_SECONDS);
  const before = cpuSeconds(pid);
  const { requests, errors } = await load(port, script, seconds);
  const cpu = cpuSeconds(pid) - before;
  if (errors > 0) throw new Error(`${errors} of ${requests} requests failed`);
  return { requests, cpuMicrosPerRequest: (cpu / requests) * 1e6, requestsPerSecond: requests / seconds };
}

/** An engine that answers each request at once, on raw sockets. Runs in a process of its own. */
function serveEngine(): void {
  const answer = Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(ANSWER)}\r\n\r\n${ANSWER}`,
  );
  const metrics = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1\r\n\r\n\n');
  const server = createServer((socket: Socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    let held = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      for (let end = held.indexOf('\r\n\r\n'); end !== -1; end = held.indexOf('\r\n\r\n')) {
        const head = held.toString('latin1', 0, end);
        const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
        if (held.length < end + 4 + length) return;
        held = held.subarray(end + 4 + length);
        socket.write(head.startsWith('GET /metrics') ? metrics : answer);
      }
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`PORT ${typeof address === 'object' && address !== null ? address.port : 0}\n`);
  });
}

function portOf(child: ChildProcess, pattern: RegExp): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match !== null) resolve(Number(match[1]));
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('exit', (code) => reject(new Error(`a process ended early (${code}): ${text}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function whenOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
}

function nginxConfig(folder: string, port: number, enginePort: number): string {
  return `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  upstream engine { server 127.0.0.1:${enginePort}; keepalive 128; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`;
}

function manifests(enginePort: number): string {
  return `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: {name: engine, namespace: default}
spec: {model: m, inferenceEngine: vLLM, workloadSelector: {matchLabels: {app: engine}}, workloadPort: {port: ${enginePort}}}
---
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: {name: m, namespace: default}
spec: {modelName: m, rules: [{name: all, targetModels: [{modelServerName: engine}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: engine-0, namespace: default, labels: {app: engine}}
spec: {containers: [{name: engine, image: engine}]}
status: {phase: Running, podIP: 127.0.0.1, conditions: [{type: Ready, status: 'True'}]}
`;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      warmup: { type: 'string', default: '15' },
      'max-ratio': { type: 'string', default: '4' },
      engine: { type: 'boolean', default: false },
    },
  });
  if (values.engine) {
    serveEngine();
    return -1;
  }
  execFileSync('sh', ['-c', 'command -v wrk && command -v nginx'], { stdio: 'ignore' });
  const folder = mkdtempSync(join(tmpdir(), 'kvasir-router-cpu-'));
  const children: ChildProcess[] = [];
  const start = (cpu: number, program: string, programArgs: readonly string[]): ChildProcess => {
    const [command, args] = pinned(cpu, program, programArgs);
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  try {
    const engine = start(LOAD_CPU, process.execPath, ['--import', 'tsx', __filename, '--engine']);
    const enginePort = await portOf(engine, /PORT (\d+)/);
    const script = join(folder, 'post.lua');
    writeFileSync(script, wrkScript());
    const nginxPort = await freePort();
    writeFileSync(join(folder, 'nginx.conf'), nginxConfig(folder, nginxPort, enginePort));
    const nginx = start(PROXY_CPU, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')]);
    await whenOpen(nginxPort);
    writeFileSync(join(folder, 'objects.yaml'), manifests(enginePort));
    writeFileSync(join(folder, 'router-config.json'), JSON.stringify({ accessLog: { enabled: false } }));
    const flags = ['--listen', '--metrics-listen', '--debug-listen'].flatMap((flag) => [flag, '127.0.0.1:0']);
    // Bundled as the image is: run from TypeScript, every closure would pay for the loader's bookkeeping of names.
    const bundle = join(folder, 'router.js');
    const entryPoints = [join(ROOT, 'runtime/router/main.ts')];
    buildSync({
      entryPoints,
      outfile: bundle,
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'cjs',
      logLevel: 'error',
    });
    const router = start(PROXY_CPU, process.execPath, [
      ...imageNodeFlags(),
      ...[bundle, '--cluster', join(folder, 'objects.yaml')],
      ...['--config', join(folder, 'router-config.json'), ...flags],
    ]);
    const routerPort = await portOf(router, /"listen":"127\.0\.0\.1:(\d+)"/);
    const seconds = Number(values.seconds);
    for (const port of [nginxPort, routerPort]) await load(port, script, Number(values.warmup));
    const nginxRounds: Round[] = [];
    const routerRounds: Round[] = [];
    for (let index = 0; index < Number(values.rounds); index++) {
      nginxRounds.push(await round(nginx.pid!, nginxPort, script, seconds));
      routerRounds.push(await round(router.pid!, routerPort, script, seconds));
    }
    const nginxMicros = median(nginxRounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest));
    const routerMicros = median(routerRounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest));
    const ratio = routerMicros / nginxMicros;
    const perSecond = (rounds: readonly Round[]): number =>
      Math.round(median(rounds.map(({ requestsPerSecond }) => requestsPerSecond)));
    process.stdout.write(`nginx:  ${nginxMicros.toFixed(1)} µs CPU per request, ${perSecond(nginxRounds)} requests/s\n`);
    process.stdout.write(`router: ${routerMicros.toFixed(1)} µs CPU per request, ${perSecond(routerRounds)} requests/s\n`);
    process.stdout.write(`ratio:  ${ratio.toFixed(2)} (at most ${values['max-ratio']})\n`);
    return ratio <= Number(values['max-ratio']) ? 0 : 1;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

main().then(
  (status) => {
    if (status >= 0) process.exit(status);
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
