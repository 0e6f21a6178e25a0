import { RedisScript } from '../../../lib/redis-script';

/**
 * Takes from all buckets or from none, in Redis, on hashes of Kthena's layout: fields `tokens` and `last_update` in seconds of the
 * server's clock, absent ones for a full bucket, both written and the expiry set on each look. Kthena's own scripts can work on the same
 * hashes at the same time.
 *
 * KEYS: one hash per bucket. ARGV, six per bucket: needed, taken when all that is needed is there, owed in any case, capacity, refill
 * per second, expiry in seconds. Replies 1 or 0, then what each bucket holds afterwards.
 */
export const TAKE_SCRIPT = new RedisScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local levels = {}
local granted = 1
for i = 1, #KEYS do
  local at = (i - 1) * 6
  local capacity = tonumber(ARGV[at + 4])
  local fields = redis.call('HMGET', KEYS[i], 'tokens', 'last_update')
  local level = tonumber(fields[1]) or capacity
  local elapsed = math.max(0, now - (tonumber(fields[2]) or now))
  level = math.min(capacity, level + elapsed * tonumber(ARGV[at + 5])) - tonumber(ARGV[at + 3])
  levels[i] = math.min(capacity, level)
  if levels[i] < tonumber(ARGV[at + 1]) then granted = 0 end
end
local reply = { granted }
for i = 1, #KEYS do
  local at = (i - 1) * 6
  if granted == 1 then levels[i] = math.min(tonumber(ARGV[at + 4]), levels[i] - tonumber(ARGV[at + 2])) end
  redis.call('HSET', KEYS[i], 'tokens', string.format('%.17g', levels[i]), 'last_update', string.format('%.17g', now))
  redis.call('EXPIRE', KEYS[i], ARGV[at + 6])
  reply[i + 1] = string.format('%.17g', levels[i])
end
return reply
`);
