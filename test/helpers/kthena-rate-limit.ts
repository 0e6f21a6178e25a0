import type { Redis } from 'ioredis';

/**
 * Kthena's token bucket in Redis, written anew from what is known of it: a hash of `tokens` and `last_update` under
 * `kthena:ratelimit:{model}:{input|output}`, arguments (n, burst, refill per second, expiry) to take and (burst, refill, expiry) to ask.
 */
const REFILL = (burst: string, refill: string): string => `
local t = redis.call('TIME')
local now = t[1] + t[2] / 1e6
local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens') or ${burst})
local last = tonumber(redis.call('HGET', KEYS[1], 'last_update') or now)
local available = math.min(tonumber(${burst}), tokens + math.max(0, now - last) * tonumber(${refill}))
`;

const WRITE = (level: string, expiry: string): string => `
redis.call('HSET', KEYS[1], 'tokens', ${level}, 'last_update', now)
redis.call('EXPIRE', KEYS[1], ${expiry})
`;

const TAKE = `${REFILL('ARGV[2]', 'ARGV[3]')}
if available >= tonumber(ARGV[1]) then
${WRITE('available - ARGV[1]', 'ARGV[4]')}
return 1
end
${WRITE('available', 'ARGV[4]')}
return 0`;

const ASK = `${REFILL('ARGV[1]', 'ARGV[2]')}
${WRITE('available', 'ARGV[3]')}
return available`;

/** One of Kthena's routers, as far as it limits one model. */
export class KthenaLimiter {
  constructor(
    private readonly redis: Redis,
    private readonly model: string,
    private readonly kind: 'input' | 'output',
    private readonly burst: number,
    private readonly unitSeconds: number,
  ) {}

  get key(): string {
    return `kthena:ratelimit:${this.model}:${this.kind}`;
  }

  async take(tokens: number): Promise<boolean> {
    return (await this.redis.eval(TAKE, 1, this.key, tokens, this.burst, this.burst / this.unitSeconds, 600)) === 1;
  }

  /** In whole tokens, as Redis makes of a number. */
  async available(): Promise<number> {
    return (await this.redis.eval(ASK, 1, this.key, this.burst, this.burst / this.unitSeconds, 600)) as number;
  }
}
