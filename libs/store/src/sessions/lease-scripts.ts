import { clock } from '../scripts/clock.ts';
import { script } from '../scripts/script.ts';
import { isFenced, leaveSession, readInvocation, touchInvocation } from './invocation-scripts.ts';

// Who has the session: nobody, when the holder gave no sign of life in time.
export const holderOf = `
local function holder_of(session)
  local lease = redis.call('HMGET', session, 'lease', 'until')
  return lease[1] and tonumber(lease[2]) > now_ms() and lease[1] or nil
end
`;

/**
 * KEYS invocation, session, waiting, waiting runs, index.
 * ARGV session token, ttl running, ttl ended, nonce, name of the run, lease in ms, whenBusy, what to publish, the name again for a run that
 * continues the invocation or '', the part of the invocation and the message that this delivery brings, each or ''.
 * The nonce tells a repetition of our own call, which must not fence ourselves, from another taker.
 * Returns the word for what was found, then what belongs to it.
 */
export const takeSessionScript = script(`${touchInvocation}${clock}${holderOf}
local id, lease_ms, when_busy, run, resume = ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9]
local part, message = ARGV[10], ARGV[11]
if redis.call('HEXISTS', KEYS[1], end_field(resume)) == 1 then return { 'ended' } end
if redis.call('HEXISTS', KEYS[2], 'seq') == 0 then return { 'gone' } end
local owner = redis.call('HGET', KEYS[1], 'owner')
if resume ~= '' and owner and owner ~= ARGV[1] then return { 'gone' } end
local holder = holder_of(KEYS[2])
local first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
if holder ~= id and (holder or (first and first ~= id)) then
  if when_busy ~= 'reject' then
    local place = redis.call('HINCRBY', KEYS[2], 'waits', 1)
    redis.call('ZADD', KEYS[3], 'NX', when_busy == 'interrupt' and -place or place, id)
    redis.call('HSET', KEYS[4], id, run)
    redis.call('HDEL', KEYS[1], 'part', 'message')
    redis.call('PEXPIRE', KEYS[3], ARGV[2])
    redis.call('PEXPIRE', KEYS[4], ARGV[2])
  end
  return { 'busy', holder or '' }
end
if message ~= '' then
  local taken = redis.call('HMGET', KEYS[1], 'part', 'message')
  if holder == id and taken[1] == part and taken[2] ~= message then return { 'duplicate' } end
  redis.call('HSET', KEYS[1], 'part', part, 'message', message)
end
redis.call('HSET', KEYS[2], 'lease', id, 'until', now_ms() + lease_ms)
redis.call('ZREM', KEYS[3], id)
redis.call('HDEL', KEYS[4], id)
local before = redis.call('HGET', KEYS[1], 'run') or ''
if before ~= resume then
  if is_over(KEYS[1]) then redis.call('HDEL', KEYS[1], 'cancel') end
  redis.call('HDEL', KEYS[1], 'begun', 'run')
  redis.call('HSET', KEYS[1], 'before', before)
  if resume ~= '' then redis.call('HSET', KEYS[1], 'run', resume) end
end
if redis.call('HGET', KEYS[1], 'taker') ~= ARGV[4] then
  redis.call('HINCRBY', KEYS[1], 'token', 1)
  redis.call('HINCRBY', KEYS[1], 'begun', 1)
  redis.call('HSET', KEYS[1], 'taker', ARGV[4])
end
touch_invocation(KEYS[1], KEYS[5], unpack(ARGV, 1, 3))
local found = redis.call('HMGET', KEYS[1], 'token', 'begun', 'cancel')
return { 'held', tonumber(found[1]), tonumber(found[2] or 0), found[3] or '' }
`);

/** KEYS invocation, session. ARGV token, invocation id, lease in ms. Returns why it shall end, or ''. */
export const renewSessionScript = script(`${clock}${isFenced}
local run = redis.call('HGET', KEYS[1], 'run') or ARGV[2]
if is_fenced(KEYS[1], ARGV[1]) or redis.call('HGET', KEYS[2], 'lease') ~= run then return 'fenced' end
redis.call('HSET', KEYS[2], 'until', now_ms() + tonumber(ARGV[3]))
return { redis.call('HGET', KEYS[1], 'cancel') or '' }
`);

/** KEYS invocation. ARGV token. */
export const giveBackScript = script(`${isFenced}
if is_fenced(KEYS[1], ARGV[1]) then return 0 end
return redis.call('HDEL', KEYS[1], 'begun')
`);

/** KEYS session, waiting, waiting runs. Returns whether any wait, and the run whose turn it is, or ''. */
export const nextRunScript = script(`${clock}${holderOf}
local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if not first then return { 0, '' } end
if holder_of(KEYS[1]) then return { 1, '' } end
return { 1, redis.call('HGET', KEYS[3], first) or '' }
`);

/** KEYS session, waiting, waiting runs. ARGV name of the run, lease in ms. */
export const promoteRunScript = script(`${clock}${holderOf}
if redis.call('HEXISTS', KEYS[1], 'seq') == 0 or holder_of(KEYS[1]) then return 0 end
if redis.call('ZRANGE', KEYS[2], 0, 0)[1] ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'lease', ARGV[1], 'until', now_ms() + tonumber(ARGV[2]))
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[3], ARGV[1])
`);

/**
 * KEYS invocation, session, waiting, waiting runs, index. ARGV session token, ttl running, ttl ended, reason, invocation id, end of one that waits, how the
 * names begin of runs that continue it, the name of the one of these that alone is meant or ''.
 * Returns 'unknown' for one that is not this session's, or has not begun.
 */
export const cancelScript = script(`${touchInvocation}${readInvocation}${leaveSession}
local id, ended, prefix, only, later = ARGV[5], ARGV[6], ARGV[7], ARGV[8], {}
local owner, waits = redis.call('HGET', KEYS[1], 'owner'), only == '' and redis.call('ZSCORE', KEYS[3], id)
for _, name in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  if name == only or only == '' and string.sub(name, 1, #prefix) == prefix then later[#later + 1] = name end
end
local is_meant = only == '' or redis.call('HGET', KEYS[1], 'run') == only
if owner and owner ~= ARGV[1] or not owner and not waits and #later == 0 then return 'unknown' end
if not is_meant and #later == 0 and redis.call('HEXISTS', KEYS[1], end_field(only)) == 0 then return 'unknown' end
if is_meant and (owner or waits) and not is_over(KEYS[1]) then
  redis.call('HSETNX', KEYS[1], 'cancel', ARGV[4])
  if waits then
    redis.call('HSET', KEYS[1], 'end', ended)
    leave_session(KEYS[2], KEYS[3], KEYS[4], id)
  end
  touch_invocation(KEYS[1], KEYS[5], unpack(ARGV, 1, 3))
end
for _, name in ipairs(later) do
  redis.call('HSETNX', KEYS[1], end_field(name), ended)
  leave_session(KEYS[2], KEYS[3], KEYS[4], name)
  touch_invocation(KEYS[1], KEYS[5], unpack(ARGV, 1, 3))
end
return read_invocation(KEYS[1])
`);
