import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..', '..');
/** The proxy under test has this CPU for itself. */
export const PROXY_CPU = 0;
/** Load and engines share this one: else most of what is measured is the cost of waking an idle CPU at each write. */
export const LOAD_CPU = 1;
/** Ticks per second of /proc/PID/stat; 100 on every Linux that Node runs on. */
const CLOCK_TICKS = 100;
const HAS_TWO_CPUS = availableParallelism() >= 2;

export interface StartOptions {
  /** Flags of Node before the program. @default none */
  readonly nodeFlags?: readonly string[];
  /** Whether `child.send` and its messages work. @default false */
  readonly hasChannel?: boolean;
}

/** Processes and files of one benchmark; `close` ends and removes them all. */
export class BenchProcesses {
  readonly folder = mkdtempSync(join(tmpdir(), 'kvasir-bench-'));
  private readonly children: ChildProcess[] = [];

  /** Starts a program bound to one CPU, where the machine has two. */
  start(cpu: number, program: string, programArgs: readonly string[], options: StartOptions = {}): ChildProcess {
    const [command, args] = HAS_TWO_CPUS
      ? ['taskset', ['-c', String(cpu), program, ...programArgs]]
      : [program, [...programArgs]];
    const channel = options.hasChannel === true ? (['ipc'] as const) : [];
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe', ...channel] });
    this.children.push(child);
    return child;
  }

  /** Runs a TypeScript file. */
  startTypeScript(cpu: number, file: string, args: readonly string[]): ChildProcess {
    return this.start(cpu, process.execPath, ['--import', 'tsx', file, ...args]);
  }

  /** Ends one process and waits until it is gone. */
  async end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  close(): void {
    for (const child of this.children) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Binds this process to the load's CPU, for benchmarks whose clients it runs itself. */
export function joinLoadCpu(): void {
  if (HAS_TWO_CPUS) execFileSync('taskset', ['-a', '-cp', String(LOAD_CPU), String(process.pid)], { stdio: 'ignore' });
}

/** @throws naming the first program that is not installed, and the Debian package that has it. */
export function requirePrograms(packages: Readonly<Record<string, string>>): void {
  for (const [program, debianPackage] of Object.entries(packages)) {
    if (!hasProgram(program)) throw new Error(`${program} is not installed (Debian: apt-get install ${debianPackage})`);
  }
}

export function hasProgram(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** User and system time of all threads of a process. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

/** Resident memory of a process. */
export function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** Waits for a line with a port. What the process writes later is read and dropped. */
export function portOf(child: ChildProcess, pattern: RegExp): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    let isFound = false;
    const read = (chunk: Buffer): void => {
      if (isFound) return;
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match === null) return;
      isFound = true;
      resolve(Number(match[1]));
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('exit', (code) => reject(new Error(`a process ended early (${code}): ${text}`)));
  });
}

/** @throws after five seconds. */
export async function whenOpen(port: number): Promise<void> {
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
