import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ApiClient } from '../../runtime/cluster/kubernetes/api-client';
import { chooseCredentials } from '../../runtime/cluster/kubernetes/choose-credentials';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { messageOf } from '../../runtime/cluster/kubernetes/outcome-of';

/** Pods of control planes that run at the same time, for test files in processes of their own, do not listen at the same addresses. */
const POD_IP_BASE = `127.${101 + (process.pid % 150)}.0.0`;
const SOURCES = join(__dirname, 'controlplane');
/** Where Go is when it is not on the path. */
const GO = '/usr/local/go/bin/go';

/**
 * Whether there is a cluster to test against: that of `KUBECONFIG_TEST`, or Go to build a control plane with. Without either, tests are
 * skipped with one line, and under CI it is an error.
 */
export function hasControlPlane(): boolean {
  return process.env.KUBECONFIG_TEST !== undefined || hasGo();
}

/** As `hasControlPlane`, for tests that stop and start the control plane and so need one of their own. */
export function hasGo(): boolean {
  if (spawnSync('go', ['version']).status === 0 || existsSync(GO)) return true;
  if (process.env.CI !== undefined) throw new Error('no Go: install Go 1.25 or newer, or set KUBECONFIG_TEST');
  process.stderr.write('Go is not installed and KUBECONFIG_TEST is not set, so nothing is tested against a Kubernetes API\n');
  return false;
}

export interface ControlPlaneOptions {
  /** Whether controllers, scheduler and kubelets run from the start; else from `startWorkers` on. @default true */
  readonly workers?: boolean;
  /** Fake nodes. @default 2 */
  readonly nodes?: number;
  /** GPUs of each node. @default 8 */
  readonly gpus?: number;
  /** Shell command that is run for each container; see `controlplane/hollow.go`. @default none: pods just become ready */
  readonly podExec?: string;
}

/** A Kubernetes cluster for one test file. */
export interface TestCluster {
  /** As administrator. */
  readonly credentials: Credentials;
  readonly kubeconfig: string;
  close(): Promise<void>;
}

interface ApiFacts {
  readonly server: string;
  readonly token: string;
  readonly kubeconfig: string;
}

/**
 * A real etcd, kube-apiserver, controller manager and scheduler, and kubelets that run no containers. It is built at its first use, which
 * takes minutes without a cache, and starts in seconds.
 */
export class ControlPlane implements TestCluster {
  private api: ChildProcess | undefined;
  private workers: ChildProcess | undefined;
  private facts: ApiFacts | undefined;

  private constructor(
    private readonly program: string,
    /** State, credentials and logs of this control plane. */
    readonly folder: string,
    readonly credentials: Credentials,
    private readonly options: ControlPlaneOptions,
  ) {}

  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const folder = mkdtempSync(join(tmpdir(), 'kvasir-control-plane-'));
    const program = buildControlPlane();
    const api = await startHalf<ApiFacts>(program, 'api', folder, []);
    const plane = new ControlPlane(program, folder, tokenCredentials(api.facts), options);
    plane.api = api.child;
    plane.facts = api.facts;
    if (options.workers === false) return plane;
    try {
      await plane.startWorkers();
    } catch (error) {
      await plane.close();
      throw error;
    }
    return plane;
  }

  /** Such as `https://127.0.0.1:40123`; the same after a restart. */
  get server(): string {
    return this.facts!.server;
  }

  /** Of an administrator; the same after a restart. */
  get token(): string {
    return this.facts!.token;
  }

  /** Path of the administrator's kubeconfig. */
  get kubeconfig(): string {
    return this.facts!.kubeconfig;
  }

  /** Starts controllers, scheduler and kubelets. */
  async startWorkers(): Promise<void> {
    const { nodes = 2, gpus = 8, podExec } = this.options;
    const args = [
      `--nodes=${nodes}`,
      `--gpus=${gpus}`,
      ...(podExec === undefined ? [] : [`--pod-exec=${podExec}`]),
      `--pod-ip-base=${POD_IP_BASE}`,
    ];
    this.workers = (await startHalf(this.program, 'workers', this.folder, args)).child;
  }

  /** Ends API server and etcd; pods, controllers and scheduler run on. @param signal SIGKILL: as a machine that fails. */
  async stopApi(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { api } = this;
    this.api = undefined;
    await ended(api, signal);
  }

  /** Starts API server and etcd on the data that they had. */
  async startApi(): Promise<void> {
    this.api = (await startHalf<ApiFacts>(this.program, 'api', this.folder, [])).child;
  }

  /** The API server is there and answers nothing, until `resumeApi`. */
  pauseApi(): void {
    this.api?.kill('SIGSTOP');
  }

  resumeApi(): void {
    this.api?.kill('SIGCONT');
  }

  async close(): Promise<void> {
    const { api, workers } = this;
    this.api = undefined;
    this.workers = undefined;
    api?.kill('SIGCONT');
    await Promise.all([ended(workers, 'SIGKILL'), ended(api, 'SIGKILL')]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * The cluster that `KUBECONFIG_TEST` names, or a control plane of its own.
 *
 * @throws Error when that cluster does not answer, or does not take its user for an administrator.
 */
export async function openTestCluster(options: ControlPlaneOptions = {}): Promise<TestCluster> {
  const file = process.env.KUBECONFIG_TEST;
  if (file === undefined) return ControlPlane.start(options);
  const credentials = await chooseCredentials({ file }, process.env);
  const problem = await whyUnusable(credentials);
  if (problem !== undefined) {
    throw new Error(
      `KUBECONFIG_TEST=${file}: ${problem}; name a cluster that tests may change, or unset it for one of their own`,
    );
  }
  return { credentials, kubeconfig: file, close: () => Promise.resolve() };
}

async function whyUnusable(credentials: Credentials): Promise<string | undefined> {
  const client = new ApiClient(credentials);
  const asked = { verb: '*', group: '*', resource: '*' };
  const apiVersion = 'authorization.k8s.io/v1';
  const answer = await client.request({
    method: 'POST',
    path: `/apis/${apiVersion}/selfsubjectaccessreviews`,
    body: { apiVersion, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: asked } },
  });
  client.close();
  if (answer.kind !== 'answered' || answer.status !== 201) return `${credentials.server} says: ${messageOf(answer)}`;
  const { status } = answer.body as { readonly status: { readonly allowed: boolean } };
  return status.allowed ? undefined : `${credentials.server} does not let that user do everything`;
}

/** Asks with a token. The certificate of a control plane for tests is its own. */
export function tokenCredentials({ server, token }: { readonly server: string; readonly token: string }): Credentials {
  const headers = { authorization: `Bearer ${token}` };
  return { server, namespace: 'default', connection: () => Promise.resolve({ rejectUnauthorized: false, headers }) };
}

/** @returns the path of the program, built when there is none of these sources. */
export function buildControlPlane(): string {
  const { status, stdout, stderr } = spawnSync(join(SOURCES, 'build.sh'), { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the control plane could not be built:\n${stderr}`);
  return stdout.trim();
}

async function startHalf<Facts>(
  program: string,
  half: 'api' | 'workers',
  folder: string,
  args: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly facts: Facts }> {
  // Its standard input is closed with this process, which ends it even when this process is killed.
  const child = spawn(program, [half, `--dir=${folder}`, '--exit-on-stdin-eof', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the control plane's ${half} ended with ${code}: ${errors}`)));
    createInterface(child.stdout).once('line', (line) => resolve({ child, facts: JSON.parse(line) as Facts }));
  });
}

async function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exit;
}
