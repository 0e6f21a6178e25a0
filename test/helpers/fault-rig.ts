import { silentLogger } from '../../runtime/lib/logger';
import type { Decision } from '../../runtime/router/observability/decision-ring';
import type { RouterConfig } from '../../src/config/router-config';
import { FaultEngine } from './fault-engine';
import { type DeadSpell, expectInvariants, type Verdict, verdictOf } from './fault-invariants';
import { type ClientEnd, FaultLoad } from './fault-load';
import { routerConfig, startTestRouter, type TestRouter, type TestRouterOptions, until } from './router-harness';

export interface FaultRigOptions extends Omit<TestRouterOptions, 'engines' | 'config' | 'logs'> {
  /** @default 4 */
  readonly engines?: number;
  /** @default 24 */
  readonly clients?: number;
  readonly config?: { [K in keyof RouterConfig]?: Partial<RouterConfig[K]> };
  readonly headersOf?: (number: number) => Record<string, string>;
}

const WATCH_MS = 10;

/** A router in front of engines under load, everything written down that the invariants need. */
export class FaultRig {
  private readonly deadSpells: DeadSpell[] = [];
  private readonly watching: NodeJS.Timeout;
  private readonly load: FaultLoad;
  private isOver = false;
  /** Endpoints that were there once. */
  private readonly met = new Set<string>();

  private constructor(
    readonly engines: readonly FaultEngine[],
    readonly at: TestRouter,
    private readonly decisionLines: readonly string[],
    options: FaultRigOptions,
  ) {
    this.watching = setInterval(() => this.watch(), WATCH_MS);
    const { clients = 24, headersOf } = options;
    const { port } = at.router.address;
    this.load = new FaultLoad({ port, clients, ...(headersOf === undefined ? {} : { headersOf }) });
  }

  static async start(options: FaultRigOptions = {}): Promise<FaultRig> {
    const { engines: count = 4, config, ...rest } = options;
    const engines = await Promise.all(
      Array.from({ length: count }, async (_, index) => (await new FaultEngine(index).start()) as FaultEngine),
    );
    const lines: string[] = [];
    const at = await startTestRouter({
      ...rest,
      engines,
      config: routerConfig({ decisionLog: { output: 'stdout', sampleRatio: 1 }, ...config }),
      logs: { log: silentLogger(), decisionLogDestination: { write: (line) => void lines.push(line) } },
    });
    return new FaultRig(engines, at, lines, options);
  }

  /** Requests that are over. */
  get ends(): readonly ClientEnd[] {
    return this.load.ends;
  }

  /** Resolves when so many more requests are over. */
  async served(count: number): Promise<void> {
    const target = this.ends.length + count;
    await until(() => this.ends.length >= target, `${count} more requests`);
  }

  /** Resolves when the router knows that an engine is dead. */
  async untilKnownDead(index: number): Promise<void> {
    const id = `default/pod-${index}#`;
    await until(() => this.deadSpells.some(({ endpoint }) => endpoint.startsWith(id)), `pod-${index} is known to be dead`);
  }

  /** Goes on for as long as traffic to the dead may go on, and longer. */
  async outlastGrace(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1_300));
  }

  /** Ends the load, checks what must hold after every fault, and closes. @returns what the clients made of their answers. */
  async finish(): Promise<readonly Verdict[]> {
    const ends = await this.load.stop();
    this.watch();
    clearInterval(this.watching);
    const decisions = this.decisionLines.map((line) => JSON.parse(line) as Decision);
    try {
      await expectInvariants({ router: this.at, engines: this.engines, ends, decisions, deadSpells: this.deadSpells });
    } finally {
      await this.abandon();
    }
    return ends.map(verdictOf);
  }

  /** Ends everything and checks nothing. */
  async abandon(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    clearInterval(this.watching);
    const stopped = this.load.stop();
    await this.at.router.close();
    await Promise.all(this.engines.map((engine) => engine.kill()));
    await stopped;
  }

  private watch(): void {
    const nowMs = Date.now();
    const alive = new Set<string>();
    for (const { endpoint, isAvailable, isEjected } of this.at.router.endpoints.all()) {
      this.met.add(endpoint.id);
      if (isAvailable && !isEjected) alive.add(endpoint.id);
    }
    for (const endpoint of this.met) {
      const open = this.deadSpells.find((spell) => spell.endpoint === endpoint && spell.toMs === Number.POSITIVE_INFINITY);
      if (alive.has(endpoint)) {
        if (open !== undefined) open.toMs = nowMs;
      } else if (open === undefined) {
        this.deadSpells.push({ endpoint, fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
      }
    }
  }
}

/** Share of answers that were whole, 0..1. */
export function wholeShare(verdicts: readonly Verdict[]): number {
  return verdicts.filter(({ kind }) => kind === 'whole').length / verdicts.length;
}
