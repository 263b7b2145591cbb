import { clock } from '../../scripts/clock.ts';
import { defineScript } from '../../scripts/define-script.ts';
import {
  endField,
  isFenced,
  leaveSession,
  queueKeys,
  readInvocation,
  touchInvocation,
} from './invocation-scripts.ts';
import { hasRoom, noteQueued, noteRunning } from './user-runs.ts';

/** Longest time between two times that a silent holder is found, in ms. */
const longestSilenceMs = 3_600_000;

// Returns the run that has the session, or nil. No clock takes the session from it.
export const holderOf = `
local function holder_of(session)
  return redis.call('HGET', session, 'lease') or nil
end
`;

// Gives the session to a run. `asked` counts how often the run of a silent holder was asked for; `again` is the
// time of the next time.
export const giveTo = `
local function give_to(session, run, lease_ms)
  redis.call('HSET', session, 'lease', run, 'until', now_ms() + tonumber(lease_ms))
  redis.call('HDEL', session, 'asked', 'again')
end
`;

// Tells whether a holder has given no sign of life, and was not asked for just now.
const isSilent = `
local function is_silent(session)
  local times = redis.call('HMGET', session, 'until', 'again')
  return tonumber(times[1] or 0) <= now_ms() and tonumber(times[2] or 0) <= now_ms()
end
`;

/**
 * Takes a session. `run` is the run's name; `resume` is the same for a run that continues an invocation, or
 * ''; `message` is published when the run is the next in the session's queue; `part` and `delivery` name the
 * part of the invocation and the message of this delivery, each or ''; `place`, `earlier` and `incarnation`
 * are those of the options, each or ''; `rejection` is the end of a run that is rejected, as JSON, or ''. `most` is the number of runs of the user
 * that may be at work and `mostQueued` of those that may wait, each '' without limits; `refusal` is the end of
 * a run beyond the latter, as JSON; `onlyWaits` is 1 for a run that must not begin now; `waitingMs` is the
 * time for which a queue is kept. The nonce distinguishes a repetition of the same call from another
 * taker: a repetition must not fence off its own caller. Returns the state, then the values that belong to
 * it.
 */
export const takeScript = defineScript(
  {
    keys: ['invocation', ...queueKeys, 'index'],
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
      'place',
      'earlier',
      'incarnation',
      'rejection',
      'most',
      'mostQueued',
      'refusal',
      'onlyWaits',
      'waitingMs',
    ],
  },
  `${touchInvocation}${clock}${giveTo}${leaveSession}${hasRoom}${noteRunning}${noteQueued}
local home = redis.call('HGET', invocation, 'home')
if home and home ~= session_token then return { resume == '' and 'elsewhere' or 'gone' } end
if redis.call('HEXISTS', invocation, end_field(resume)) == 1 then
  leave_session(run)
  return { 'ended' }
end
local seq, nonce_now, holder, lease_end = unpack(redis.call('HMGET', session, 'seq', 'nonce', 'lease', 'until'))
if not seq or incarnation ~= '' and incarnation ~= nonce_now then return { 'gone' } end
local owner = redis.call('HGET', invocation, 'owner')
if resume ~= '' and owner and owner ~= session_token then return { 'gone' } end
local is_begun = redis.call('HGET', invocation, 'taken') == run
local mine = tonumber(redis.call('HGET', invocation, 'place:' .. run) or place)
local first, first_score = unpack(redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES'))
local function score() return when_busy == 'interrupt' and -mine or mine end
local function must_wait()
  if holder and holder ~= run then return true end
  if holder and (is_begun or not mine) then return false end
  if earlier ~= '' and mine and tonumber(earlier) < score() then return true end
  return first and first ~= run and (not mine or tonumber(first_score) < score())
end
local is_busy = must_wait()
-- A run that continues an invocation, or has begun, does not wait for a share.
local is_limited = most ~= '' and resume == '' and not is_begun and not holder
local is_full = is_limited and not has_room(most)
local has_waited = redis.call('HEXISTS', invocation, 'place:' .. run) == 1
-- A new run takes no room from those that wait. A run that was published from its queue has its turn.
local function is_behind()
  if has_waited then return false end
  local next_ready = redis.call('ZRANGE', ready, 0, 0, 'WITHSCORES')
  return next_ready[1] and next_ready[1] ~= session_token and mine and tonumber(next_ready[2]) < score()
end
if is_busy or is_full or is_limited and is_behind() then
  if not is_busy or when_busy ~= 'reject' then
    if not mine then
      local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2]
      mine = math.max(tonumber(last or 0), 0) + 1
    end
    local limit = (has_waited or resume ~= '' or refusal == '') and '' or most_queued
    if not note_queued(run, limit, waiting_ms) then
      redis.call('HSETNX', invocation, end_field(resume), refusal)
      leave_session(run)
      redis.call('HSET', invocation, 'home', session_token)
      touch_invocation(invocation, index, session_token, running_ms, ended_ms)
      return { 'refused' }
    end
    redis.call('HSETNX', invocation, 'place:' .. run, mine)
    redis.call('ZADD', waiting, 'NX', score(), run)
    redis.call('HSET', waiting_runs, run, message)
    redis.call('HDEL', invocation, 'part', 'message')
    redis.call('HSET', invocation, 'home', session_token)
    if holder == run then
      redis.call('HDEL', session, 'lease', 'until')
      redis.call('ZREM', running, session_token)
    end
    redis.call('PEXPIRE', waiting, waiting_ms)
    redis.call('PEXPIRE', waiting_runs, waiting_ms)
    note_ready()
    touch_invocation(invocation, index, session_token, waiting_ms, ended_ms)
  elseif rejection ~= '' then
    redis.call('HSETNX', invocation, end_field(resume), rejection)
    leave_session(run)
    redis.call('HSET', invocation, 'home', session_token)
    touch_invocation(invocation, index, session_token, running_ms, ended_ms)
  end
  return { 'busy', holder ~= run and holder or '', is_full and 1 or 0 }
end
if only_waits == '1' then return { 'free' } end
if delivery ~= '' then
  local taken = redis.call('HMGET', invocation, 'part', 'message')
  local is_alive = holder and tonumber(lease_end) > now_ms()
  if is_alive and taken[1] == part and taken[2] ~= delivery then return { 'duplicate' } end
  redis.call('HSET', invocation, 'part', part, 'message', delivery)
end
redis.call('HSET', invocation, 'home', session_token)
give_to(session, run, lease_ms)
note_running(lease_ms, most ~= '')
if first then
  redis.call('ZREM', waiting, run)
  redis.call('ZREM', queued, session_token .. ' ' .. run)
  redis.call('ZREM', ready, session_token)
end
if message == '' then redis.call('HDEL', waiting_runs, run)
else
  redis.call('HSET', waiting_runs, run, message)
  redis.call('PEXPIRE', waiting_runs, waiting_ms)
end
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
  redis.call('HSET', invocation, 'taker', nonce, 'taken', run)
end
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
local found = redis.call('HMGET', invocation, 'token', 'begun', 'cancel')
return { 'held', tonumber(found[1]), tonumber(found[2] or 0), found[3] or '' }
`,
);

/** Renews a lease. Returns the reason why the invocation was cancelled, or ''. */
export const renewScript = defineScript(
  {
    keys: ['invocation', 'session', 'running'],
    args: ['sessionToken', 'fencingToken', 'invocationId', 'leaseMs'],
  },
  `${clock}${isFenced}${giveTo}${noteRunning}
local run = redis.call('HGET', invocation, 'run') or invocation_id
if is_fenced(invocation, fencing_token) or redis.call('HGET', session, 'lease') ~= run then return 'fenced' end
give_to(session, run, lease_ms)
note_running(lease_ms, false)
return { redis.call('HGET', invocation, 'cancel') or '' }
`,
);

export const giveBackScript = defineScript(
  { keys: ['invocation'], args: ['fencingToken'] },
  `${isFenced}
if is_fenced(invocation, fencing_token) then return 0 end
return redis.call('HDEL', invocation, 'begun')
`,
  'frees',
);

/** Removes an ended run, by its name, from its session and from the queue. Returns 1 when the run has ended. */
export const leaveScript = defineScript(
  { keys: ['invocation', ...queueKeys], args: ['sessionToken', 'run', 'resume'] },
  `${endField}${leaveSession}
if redis.call('HEXISTS', invocation, end_field(resume)) == 0 then return 0 end
leave_session(run)
return 1
`,
  'frees',
);

/** Returns the silent holder, its run's text, and how often its run was asked for; or false. */
export const findSilentScript = defineScript(
  { keys: ['session', 'waitingRuns'] },
  `${clock}${isSilent}
local holder, asked = unpack(redis.call('HMGET', session, 'lease', 'asked'))
if not holder or not is_silent(session) then return false end
return { holder, redis.call('HGET', waiting_runs, holder) or '', tonumber(asked or 0) }
`,
  'reads',
);

/** Records that the run of a silent holder is asked for. Returns 1, or 0 when it is not silent any more. */
export const noteAskedScript = defineScript(
  { keys: ['session'], args: ['run', 'leaseMs'] },
  `${clock}${isSilent}
if redis.call('HGET', session, 'lease') ~= run or not is_silent(session) then return 0 end
local asked = redis.call('HINCRBY', session, 'asked', 1)
local pause = math.min(tonumber(lease_ms) * 2 ^ (asked - 1), ${longestSilenceMs})
redis.call('HSET', session, 'again', string.format('%d', now_ms() + pause))
return 1
`,
);

/** Ends the run of a silent holder that no message can bring again. Returns 1 when the run has ended. */
export const abandonScript = defineScript(
  {
    keys: ['invocation', 'index', ...queueKeys],
    args: ['sessionToken', 'runningMs', 'endedMs', 'run', 'resume', 'endJson'],
  },
  `${touchInvocation}${leaveSession}${clock}${isSilent}
local holder, asked = unpack(redis.call('HMGET', session, 'lease', 'asked'))
if holder ~= run or not asked or not is_silent(session) then return 0 end
if redis.call('HEXISTS', waiting_runs, run) == 1 then return 0 end
redis.call('HSETNX', invocation, end_field(resume), end_json)
leave_session(run)
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
return 1
`,
);

/**
 * Marks an invocation as cancelled. `endJson` is the end of its waiting runs; `prefix` is the beginning of
 * the names of runs that continue it; `only` is the name of the single run to cancel, or ''. Returns
 * 'unknown' for an invocation of another session, or an invocation that has not begun.
 */
export const cancelScript = defineScript(
  {
    keys: ['invocation', ...queueKeys, 'index'],
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
    leave_session(invocation_id)
  end
  touch_invocation(invocation, index, session_token, running_ms, ended_ms)
end
for _, name in ipairs(later) do
  redis.call('HSETNX', invocation, end_field(name), end_json)
  leave_session(name)
  touch_invocation(invocation, index, session_token, running_ms, ended_ms)
end
return read_invocation(invocation)
`,
);
