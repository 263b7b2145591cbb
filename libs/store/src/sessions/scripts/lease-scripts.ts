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
import { noteRunning } from './user-runs.ts';

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

/** Renews a lease. Returns the reason why the invocation was cancelled, or ''. */
export const renewScript = defineScript(
  {
    keys: 'invocation session running',
    args: 'sessionToken fencingToken invocationId leaseMs',
  },
  `${clock}${isFenced}${giveTo}${noteRunning}
local run = redis.call('HGET', invocation, 'run') or invocation_id
if is_fenced(invocation, fencing_token) or redis.call('HGET', session, 'lease') ~= run then return 'fenced' end
give_to(session, run, lease_ms)
note_running(lease_ms, false)
return { redis.call('HGET', invocation, 'cancel') or '' }
`,
);

/** Returns the number of the last event, the incarnation, and the number of the user's waiting runs; or false. */
export const lookScript = defineScript(
  { keys: 'session queued' },
  `${clock}
local seq, incarnation = unpack(redis.call('HMGET', session, 'seq', 'nonce'))
if not seq then return false end
return { tonumber(seq), incarnation, redis.call('ZCOUNT', queued, now_ms(), '+inf') }
`,
  'reads',
);

export const giveBackScript = defineScript(
  { keys: 'invocation', args: 'fencingToken' },
  `${isFenced}
if is_fenced(invocation, fencing_token) then return 0 end
return redis.call('HDEL', invocation, 'begun')
`,
  'frees',
);

/** Removes an ended run, by its name, from its session and from the queue. Returns 1 when the run has ended. */
export const leaveScript = defineScript(
  { keys: `invocation ${queueKeys}`, args: 'sessionToken run resume' },
  `${endField}${leaveSession}
if redis.call('HEXISTS', invocation, end_field(resume)) == 0 then return 0 end
leave_session(run)
return 1
`,
  'frees',
);

/** Returns the silent holder, its run's text, and how often its run was asked for; or false. */
export const findSilentScript = defineScript(
  { keys: 'session waitingRuns' },
  `${clock}${isSilent}
local holder, asked = unpack(redis.call('HMGET', session, 'lease', 'asked'))
if not holder or not is_silent(session) then return false end
return { holder, redis.call('HGET', waiting_runs, holder) or '', tonumber(asked or 0) }
`,
  'reads',
);

/** Records that the run of a silent holder is asked for. Returns 1, or 0 when it is not silent any more. */
export const noteAskedScript = defineScript(
  { keys: 'session', args: 'run leaseMs' },
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
    keys: `invocation index ${queueKeys}`,
    args: 'sessionToken runningMs endedMs run resume endJson',
  },
  `${touchInvocation}${leaveSession}${isSilent}
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
 * 'unknown' for an invocation of another session, or an invocation that has not begun, unless `untaken` is 1: such
 * an invocation is ended.
 */
export const cancelScript = defineScript(
  {
    keys: `invocation ${queueKeys} index`,
    args: 'sessionToken runningMs endedMs reason invocationId endJson prefix only untaken',
  },
  `${touchInvocation}${readInvocation}${leaveSession}
local later = {}
local owner, waits = redis.call('HGET', invocation, 'owner'), only == '' and redis.call('ZSCORE', waiting, invocation_id)
for _, name in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  if name == only or only == '' and string.sub(name, 1, #prefix) == prefix then later[#later + 1] = name end
end
local is_meant = only == '' or redis.call('HGET', invocation, 'run') == only
if owner and owner ~= session_token then return 'unknown' end
local has_begun = owner and (is_meant or redis.call('HEXISTS', invocation, end_field(only)) == 1)
if not has_begun and not waits and #later == 0 then
  if untaken ~= '1' then return 'unknown' end
  redis.call('HSETNX', invocation, end_field(only), end_json)
  -- As long as its command may wait.
  touch_invocation(invocation, index, session_token, running_ms, running_ms)
  return read_invocation(invocation)
end
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
