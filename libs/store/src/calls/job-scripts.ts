import { clock } from '../scripts/clock.ts';
import { script } from '../scripts/script.ts';

/** KEYS job. ARGV holder, lease, ttl, a holder whose process is gone or ''. */
export const takeJobScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'result', 'holder', 'until', 'said', 'heard')
if found[1] then return { 'done', found[1], tonumber(found[4] or 0), tonumber(found[5]) } end
local is_mine = found[2] == ARGV[1]
if found[2] and not is_mine then
  local lapsed = tonumber(found[3] or 0) <= now_ms()
  if not lapsed or found[2] ~= ARGV[4] then return { 'busy', found[2], lapsed and 1 or 0 } end
end
if not is_mine then redis.call('HINCRBY', KEYS[1], 'attempts', 1) end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now_ms() + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local now = redis.call('HMGET', KEYS[1], 'attempts', 'released', 'last')
return { 'taken', tonumber(now[1]), tonumber(now[2] or 0), now[3] or '' }
`);

/** KEYS job. ARGV holder. */
export const releaseJobScript = script(
  `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'holder', 'until')
return redis.call('HINCRBY', KEYS[1], 'released', 1)
`,
  'frees',
);

/**
 * KEYS job, progress. ARGV holder, response, ttl, how many to keep, id of the message. Returns the number, or
 * 0; and 1 when a caller follows. A worker sends one message after the other, so the id distinguishes a
 * repetition of the same message from the next message.
 */
export const reportJobScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'holder', 'nonce', 'said', 'followed', 'told')
if found[1] ~= ARGV[1] then return { 0, 0 } end
if found[2] == ARGV[5] then return { tonumber(found[3]), tonumber(found[5]) } end
local followed = tonumber(found[4] or 0) > now_ms() and 1 or 0
local n = redis.call('HINCRBY', KEYS[1], 'said', 1)
redis.call('HSET', KEYS[1], 'last', ARGV[2], 'nonce', ARGV[5], 'told', followed)
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '0-' .. n, 'r', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { n, followed }
`);

/** KEYS job. ARGV result, ttl. */
export const finishJobScript = script(`${clock}
if redis.call('HEXISTS', KEYS[1], 'result') == 0 then
  local followed = tonumber(redis.call('HGET', KEYS[1], 'followed') or 0)
  redis.call('HSET', KEYS[1], 'result', ARGV[1], 'heard', followed > now_ms() and 1 or 0)
  redis.call('HDEL', KEYS[1], 'holder', 'until')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local now = redis.call('HMGET', KEYS[1], 'result', 'said', 'heard')
return { now[1], tonumber(now[2] or 0), tonumber(now[3]) }
`);

/** KEYS job, progress. ARGV after, how long a caller counts as following, ttl, ttl of a job that was not begun. */
export const followJobScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'result', 'heard', 'attempts')
-- A job with a result has a ttl already.
if not found[1] then
  redis.call('HSET', KEYS[1], 'followed', now_ms() + tonumber(ARGV[2]))
  redis.call('PEXPIRE', KEYS[1], found[3] and ARGV[3] or ARGV[4])
end
return { redis.call('XRANGE', KEYS[2], '0-' .. ARGV[1] + 1, '+'), found[1] or '', tonumber(found[2] or 0) }
`);

/** KEYS job, progress. ARGV the final result or '', and its ttl in ms. Returns 1 if there was a job. */
export const forgetJobScript = script(
  `
redis.call('UNLINK', KEYS[2])
local known = redis.call('HGET', KEYS[1], 'result')
if known == ARGV[1] or redis.call('UNLINK', KEYS[1]) == 0 then return 0 end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'result', ARGV[1], 'heard', 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`,
  'frees',
);

/** KEYS job, progress. ARGV after. */
export const leaveJobScript = script(
  `
local found = redis.call('HMGET', KEYS[1], 'result', 'heard')
if not found[1] then redis.call('HDEL', KEYS[1], 'followed') end
return { redis.call('XRANGE', KEYS[2], '0-' .. ARGV[1] + 1, '+'), found[1] or '', tonumber(found[2] or 0) }
`,
  'frees',
);
