import { script } from '../scripts/script.ts';

/** KEYS call. ARGV result, ttl in ms. Keeps the first result, with its own ttl, and ends all leases. */
export const putCallScript = script(`
if redis.call('HSETNX', KEYS[1], 'result', ARGV[1]) == 1 then
  redis.call('HDEL', KEYS[1], 'holder')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return redis.call('HGET', KEYS[1], 'result')
`);

/**
 * KEYS call. ARGV holder, ttl in ms. Returns the state, and the result if there is one. The key expires with
 * the lease, because the key holds nothing else: a result ends the lease and sets a new ttl.
 */
export const takeCallScript = script(`
local result = redis.call('HGET', KEYS[1], 'result')
if result then return { 'done', result } end
local holder = redis.call('HGET', KEYS[1], 'holder')
if holder and holder ~= ARGV[1] then return { 'busy' } end
redis.call('HSET', KEYS[1], 'holder', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 'taken' }
`);

/**
 * KEYS call. ARGV the result that replaces the present result, or '', and its ttl in ms. Returns 1 if there
 * was a result or a lease.
 */
export const forgetCallScript = script(`
local known = redis.call('HGET', KEYS[1], 'result')
if known == ARGV[1] or redis.call('DEL', KEYS[1]) == 0 then return 0 end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'result', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`);

/** KEYS call. ARGV holder. */
export const releaseCallScript = script(`
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'holder')
`);
