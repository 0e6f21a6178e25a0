import { execFile } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '../..');

interface Policy {
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  readonly hitRatio: number;
  readonly ttftMs: { readonly p50: number; readonly p90: number };
}

interface DemoDocument {
  readonly requests: number;
  readonly conversations: number;
  readonly errors: number;
  readonly errorMessages: Record<string, number>;
  readonly ttftMs: { readonly p50: number; readonly p90: number };
  readonly cacheHitRatio: number;
  readonly speed: number;
  readonly costPerHour: number;
  readonly models: readonly {
    readonly model: string;
    readonly replicas: { readonly scaleUps: number; readonly scaleDowns: number; readonly min: number; readonly max: number };
  }[];
  readonly comparison: { readonly policies: readonly Policy[] };
}

describe('npm run demo -- --once --json', () => {
  let document: DemoDocument;
  let lines: string;

  beforeAll(async () => {
    const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
      execFile(process.execPath, ['bin/kvasir.js', 'demo', '--once', '--json'], { cwd: root }, (error, out, err) =>
        error === null ? resolve({ stdout: out, stderr: err }) : reject(new Error(`${error.message}\n${err}`)),
      );
    });
    // Exactly one document on standard output: anything else would not parse.
    document = JSON.parse(stdout) as DemoDocument;
    lines = stderr;
  }, 180_000);

  it('answers at least 500 requests of at least 40 conversations without an error', () => {
    expect(document.errorMessages).toEqual({});
    expect(document.errors).toBe(0);
    expect(document.requests).toBeGreaterThanOrEqual(500);
    expect(document.conversations).toBeGreaterThanOrEqual(40);
  });

  it('tells first-token times, cache hits, price and the speed of its clock', () => {
    expect(document.ttftMs.p50).toBeGreaterThan(0);
    expect(document.ttftMs.p90).toBeGreaterThanOrEqual(document.ttftMs.p50);
    expect(document.cacheHitRatio).toBeGreaterThan(0.5);
    expect(document.cacheHitRatio).toBeLessThan(1);
    expect(document.costPerHour).toBeGreaterThan(0);
    expect(document.speed).toBeGreaterThan(1);
  });

  it('scales a model up and down, by its policy and within its bounds', () => {
    const [model] = document.models;
    expect(model!.replicas).toMatchObject({ min: 1, max: 4 });
    expect(model!.replicas.scaleUps).toBeGreaterThanOrEqual(1);
    expect(model!.replicas.scaleDowns).toBeGreaterThanOrEqual(1);
  });

  it('compares the same workload in virtual time: expected-latency hits more and is faster than random', () => {
    const [ours, random] = ['expected-latency', 'random'].map(
      (wanted) => document.comparison.policies.find(({ name }) => name === wanted)!,
    );
    expect(ours!.requests).toBe(document.requests);
    expect(random!.requests).toBe(document.requests);
    expect(ours!.errors + random!.errors).toBe(0);
    expect(ours!.hitRatio).toBeGreaterThan(random!.hitRatio);
    expect(ours!.ttftMs.p90).toBeLessThan(random!.ttftMs.p90);
  });

  it('prints the curl for a second terminal and says that answers are simulated', () => {
    expect(lines).toMatch(/curl -N http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions .*"stream":true/);
    expect(lines).toContain('simulated');
  });
});
