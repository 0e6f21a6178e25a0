import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeSibling } from '../../helpers/fake-sibling';
import type { FaultEngine } from '../../helpers/fault-engine';
import { freePort } from '../../helpers/free-port';
import { RedisServer } from '../../helpers/redis-server';
import { AUDIENCE, ISSUER, TokenIssuer } from '../../helpers/token-issuer';
import type { BenchProcesses } from './bench-processes';
import { type RunningBenchRouter, startBenchRouter } from './bench-router';
import { firstPod, type LoopFault, type LoopObjects, loopObjects } from './loop-faults';

const SECRET = 'the secret of these routers';
/** What a sibling has in flight when it goes. */
const DISPATCHES = 2_000;
/** One request of so many bears a token whose key the router does not know. */
const UNKNOWN_EVERY = 20;

/** A router that counts in Redis, asks an issuer for keys, and has a sibling. */
export class DependentRouter {
  private constructor(
    readonly router: RunningBenchRouter,
    readonly route: LoopObjects['route'],
    /** Of the request with a number. */
    readonly headersOf: (number: number) => Record<string, string>,
    private readonly redis: RedisServer,
    private readonly issuer: TokenIssuer,
    private readonly siblingPort: number,
  ) {}

  static async start(processes: BenchProcesses, engines: readonly FaultEngine[]): Promise<DependentRouter> {
    const [redis, issuer, siblingPort] = [await RedisServer.start(), await TokenIssuer.start(), await freePort()];
    const secretFile = join(processes.folder, 'secret');
    writeFileSync(secretFile, `${SECRET}\n`);
    const listen = `127.0.0.1:${siblingPort}`;
    const global = { redis: { address: redis.address } };
    const route: LoopObjects['route'] = { rateLimit: { unit: 'day', inputTokensPerUnit: 1_000_000_000, global } };
    const router = await startBenchRouter(processes, {
      objects: loopObjects({ engines, route, first: firstPod(engines, 0) }),
      config: {
        auth: { issuer: ISSUER, audiences: [AUDIENCE], jwksUri: issuer.jwksUri, jwks: { refreshMs: 1_000, minRefreshMs: 1_000 } },
        replication: { secretFile, siblings: [listen], listen },
      },
    });
    const known = `Bearer ${await issuer.sign()}`;
    await issuer.addKey('unpublished');
    const unknown = `Bearer ${await issuer.sign({}, 'unpublished')}`;
    issuer.published.delete('unpublished');
    const headersOf = (number: number) => ({ authorization: number % UNKNOWN_EVERY === 1 ? unknown : known });
    return new DependentRouter(router, route, headersOf, redis, issuer, siblingPort);
  }

  /** In this order: each begins where the one before it ended. */
  get faults(): Readonly<Record<string, LoopFault>> {
    const { redis, issuer } = this;
    return {
      'limits, tokens and siblings': () => undefined,
      'Redis is gone': () => redis.stop(),
      'Redis is back': () => redis.start(),
      'Redis answers nothing': () => redis.freeze(),
      'Redis answers again': () => redis.thaw(),
      'the issuer of tokens is down': () => issuer.close(),
      'the issuer of tokens is back': () => issuer.listen(),
      'a sibling router is gone': ({ first }) => this.loseSibling(`default/pod-0#${first.metadata.uid}`),
    };
  }

  async close(): Promise<void> {
    await this.redis.stop();
    await this.issuer.close();
  }

  private async loseSibling(endpointId: string): Promise<void> {
    const dispatch = { kind: 'dispatch' as const, endpoint: 4, uncachedTokens: 10, kvTokens: 20, contextTokens: 30 };
    const sibling = new FakeSibling('127.0.0.1', this.siblingPort, SECRET, [
      { kind: 'endpoint', number: 4, id: endpointId },
      ...Array.from({ length: DISPATCHES }, (_, id) => ({ ...dispatch, id, words: new Uint32Array(8) })),
    ]);
    for (let waited = 0; !sibling.isLinked; waited += 10) {
      if (waited > 5_000) throw new Error('the router took no sibling');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    sibling.tell();
    // Until its share was asked for and counted.
    await new Promise((resolve) => setTimeout(resolve, 500));
    sibling.vanish();
  }
}
