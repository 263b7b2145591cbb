import { clock } from '../../scripts/clock.ts';
import { defineScript } from '../../scripts/define-script.ts';
import { isFenced, leaveSession, readInvocation, touchInvocation } from './invocation-scripts.ts';

// Returns the run that holds the session; nil when the lease has expired.
export const holderOf = `
local function holder_of(session)
  local lease = redis.call('HMGET', session, 'lease', 'until')
  return lease[1] and tonumber(lease[2]) > now_ms() and lease[1] or nil
end
`;

/**
 * Takes a session. `run` is the run's name; `resume` is the same for a run that continues an invocation, or
 * ''; `message` is published when the run is the next in the session's queue; `part` and `delivery` name the
 * part of the invocation and the message of this delivery, each or ''. The nonce distinguishes a repetition
 * of the same call from another taker: a repetition must not fence off its own caller. Returns the state,
 * then the values that belong to it.
 */
export const takeScript = defineScript(
  {
    keys: ['invocation', 'session', 'waiting', 'waitingRuns', 'index'],
    args: [
      'sessionToken',
      'runningMs',
      'endedMs',
      'nonce',
      'run',
      'leaseMs',
      'whenBusy',
      'message',
      'resume',
      'part',
      'delivery',
    ],
  },
  `${touchInvocation}${clock}${holderOf}
if redis.call('HEXISTS', invocation, end_field(resume)) == 1 then return { 'ended' } end
if redis.call('HEXISTS', session, 'seq') == 0 then return { 'gone' } end
local owner = redis.call('HGET', invocation, 'owner')
if resume ~= '' and owner and owner ~= session_token then return { 'gone' } end
local holder = holder_of(session)
local first = redis.call('ZRANGE', waiting, 0, 0)[1]
if holder ~= run and (holder or (first and first ~= run)) then
  if when_busy ~= 'reject' then
    local place = redis.call('HINCRBY', session, 'waits', 1)
    redis.call('ZADD', waiting, 'NX', when_busy == 'interrupt' and -place or place, run)
    redis.call('HSET', waiting_runs, run, message)
    redis.call('HDEL', invocation, 'part', 'message')
    redis.call('PEXPIRE', waiting, running_ms)
    redis.call('PEXPIRE', waiting_runs, running_ms)
  end
  return { 'busy', holder or '' }
end
if delivery ~= '' then
  local taken = redis.call('HMGET', invocation, 'part', 'message')
  if holder == run and taken[1] == part and taken[2] ~= delivery then return { 'duplicate' } end
  redis.call('HSET', invocation, 'part', part, 'message', delivery)
end
redis.call('HSET', session, 'lease', run, 'until', now_ms() + tonumber(lease_ms))
redis.call('ZREM', waiting, run)
redis.call('HDEL', waiting_runs, run)
local before = redis.call('HGET', invocation, 'run') or ''
if before ~= resume then
  if is_over(invocation) then redis.call('HDEL', invocation, 'cancel') end
  redis.call('HDEL', invocation, 'begun', 'run')
  redis.call('HSET', invocation, 'before', before)
  if resume ~= '' then redis.call('HSET', invocation, 'run', resume) end
end
if redis.call('HGET', invocation, 'taker') ~= nonce then
  redis.call('HINCRBY', invocation, 'token', 1)
  redis.call('HINCRBY', invocation, 'begun', 1)
  redis.call('HSET', invocation, 'taker', nonce)
end
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
local found = redis.call('HMGET', invocation, 'token', 'begun', 'cancel')
return { 'held', tonumber(found[1]), tonumber(found[2] or 0), found[3] or '' }
`,
);

/** Renews a lease. Returns the reason why the invocation was cancelled, or ''. */
export const renewScript = defineScript(
  { keys: ['invocation', 'session'], args: ['fencingToken', 'invocationId', 'leaseMs'] },
  `${clock}${isFenced}
local run = redis.call('HGET', invocation, 'run') or invocation_id
if is_fenced(invocation, fencing_token) or redis.call('HGET', session, 'lease') ~= run then return 'fenced' end
redis.call('HSET', session, 'until', now_ms() + tonumber(lease_ms))
return { redis.call('HGET', invocation, 'cancel') or '' }
`,
);

export const giveBackScript = defineScript(
  { keys: ['invocation'], args: ['fencingToken'] },
  `${isFenced}
if is_fenced(invocation, fencing_token) then return 0 end
return redis.call('HDEL', invocation, 'begun')
`,
);

/** Returns whether any runs wait, and the run whose turn it is, or ''. */
export const nextRunScript = defineScript(
  { keys: ['session', 'waiting', 'waitingRuns'] },
  `${clock}${holderOf}
local first = redis.call('ZRANGE', waiting, 0, 0)[1]
if not first then return { 0, '' } end
if holder_of(session) then return { 1, '' } end
return { 1, redis.call('HGET', waiting_runs, first) or '' }
`,
);

/** Gives the session to the first run of the queue, by its name. */
export const promoteScript = defineScript(
  { keys: ['session', 'waiting', 'waitingRuns'], args: ['run', 'leaseMs'] },
  `${clock}${holderOf}
if redis.call('HEXISTS', session, 'seq') == 0 or holder_of(session) then return 0 end
if redis.call('ZRANGE', waiting, 0, 0)[1] ~= run then return 0 end
redis.call('HSET', session, 'lease', run, 'until', now_ms() + tonumber(lease_ms))
redis.call('ZREM', waiting, run)
return redis.call('HDEL', waiting_runs, run)
`,
);

/**
 * Marks an invocation as cancelled. `endJson` is the end of its waiting runs; `prefix` is the beginning of
 * the names of runs that continue it; `only` is the name of the single run to cancel, or ''. Returns
 * 'unknown' for an invocation of another session, or an invocation that has not begun.
 */
export const cancelScript = defineScript(
  {
    keys: ['invocation', 'session', 'waiting', 'waitingRuns', 'index'],
    args: ['sessionToken', 'runningMs', 'endedMs', 'reason', 'invocationId', 'endJson', 'prefix', 'only'],
  },
  `${touchInvocation}${readInvocation}${leaveSession}
local later = {}
local owner, waits = redis.call('HGET', invocation, 'owner'), only == '' and redis.call('ZSCORE', waiting, invocation_id)
for _, name in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  if name == only or only == '' and string.sub(name, 1, #prefix) == prefix then later[#later + 1] = name end
end
local is_meant = only == '' or redis.call('HGET', invocation, 'run') == only
if owner and owner ~= session_token or not owner and not waits and #later == 0 then return 'unknown' end
if not is_meant and #later == 0 and redis.call('HEXISTS', invocation, end_field(only)) == 0 then return 'unknown' end
if is_meant and (owner or waits) and not is_over(invocation) then
  redis.call('HSETNX', invocation, 'cancel', reason)
  if waits then
    redis.call('HSET', invocation, 'end', end_json)
    leave_session(session, waiting, waiting_runs, invocation_id)
  end
  touch_invocation(invocation, index, session_token, running_ms, ended_ms)
end
for _, name in ipairs(later) do
  redis.call('HSETNX', invocation, end_field(name), end_json)
  leave_session(session, waiting, waiting_runs, name)
  touch_invocation(invocation, index, session_token, running_ms, ended_ms)
end
return read_invocation(invocation)
`,
);
