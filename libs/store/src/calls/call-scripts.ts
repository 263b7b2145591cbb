import { clock } from '../scripts/clock.ts';
import { script } from '../scripts/script.ts';

/** KEYS call. ARGV result, ttl in ms. Keeps the first result, with its own ttl, and ends all leases. */
export const putCallScript = script(`
if redis.call('HSETNX', KEYS[1], 'result', ARGV[1]) == 1 then
  redis.call('HDEL', KEYS[1], 'holder', 'until')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return redis.call('HGET', KEYS[1], 'result')
`);

/**
 * KEYS call. ARGV holder, lease in ms, ttl of the record in ms, a holder whose process is gone or ''. Returns
 * the state, and the result or the other holder, and 1 if its lease has lapsed. A lapsed lease lets nobody
 * in: only the process that knows the holder to be gone takes the lease over.
 */
export const takeCallScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'result', 'holder', 'until')
if found[1] then return { 'done', found[1] } end
if found[2] and found[2] ~= ARGV[1] then
  local lapsed = tonumber(found[3] or 0) <= now_ms()
  if not lapsed or found[2] ~= ARGV[4] then return { 'busy', found[2], lapsed and 1 or 0 } end
end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now_ms() + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 'taken' }
`);

/**
 * KEYS call. ARGV the result that replaces the present result, or '', and its ttl in ms. Returns 1 if there
 * was a result or a lease.
 */
export const forgetCallScript = script(
  `
local known = redis.call('HGET', KEYS[1], 'result')
if known == ARGV[1] or redis.call('DEL', KEYS[1]) == 0 then return 0 end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'result', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`,
  'frees',
);

/** KEYS call. ARGV holder. */
export const releaseCallScript = script(
  `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'holder', 'until')
`,
  'frees',
);
