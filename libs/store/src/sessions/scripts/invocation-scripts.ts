import { defineScript } from '../../scripts/define-script.ts';
import { noteKey } from '../../scripts/expiring-key.ts';
import { noteReady } from './user-runs.ts';

/** The keys of a session and of its queue, and the lists of the runs of its user. */
export const queueKeys = 'session waiting waitingRuns running ready queued';

// For a continued invocation, `run` is the name of the last run that continued it; each run has a separate
// end.
export const endField = `
local function end_field(run)
  return (not run or run == '') and 'end' or 'end:' .. run
end
local function has_ended(key, run, ended)
  if run then ended = redis.call('HEXISTS', key, end_field(run)) == 1 end
  return ended and true or false
end
local function is_over(key) return has_ended(key, unpack(redis.call('HMGET', key, 'run', 'end'))) end
`;

// Sets the time for which an invocation is kept, again when a part of it is over: each commit would else cost
// eight commands more. `over` tells whether its current run has ended, for callers that know.
export const touchInvocation = `${endField}${noteKey}
local function touch_invocation(key, index, session, running_ms, ended_ms, over)
  if over == nil then over = is_over(key) end
  local ttl = tonumber(over and ended_ms or running_ms)
  local left = redis.call('PTTL', key)
  if left <= ttl and left > ttl * 23 / 24 then return end
  redis.call('HSETNX', key, 'owner', session)
  redis.call('PEXPIRE', key, ttl)
  note_key(index, key, ttl)
end
`;

// The fence: a takeover increments the token in the same hash, so later writes of the former holder are
// refused. If the hash has no token, the session was deleted since; a new session with the same id is not
// this run's.
export const isFenced = `
local function is_older(token, current)
  return token ~= '' and (not current or tonumber(token) < tonumber(current))
end
local function is_fenced(key, token) return is_older(token, redis.call('HGET', key, 'token')) end
`;

// Releases what an ended run has: the session, or its place in the queue; and tells whether no run is to be
// started: none has the session or waits for it, and none of the user waits for a free session. Uses the keys of a session and of its
// user as local variables, as `noteReady` does.
export const leaveSession = `${noteReady}
local function leave_session(run)
  if redis.call('HGET', session, 'lease') == run then
    redis.call('HDEL', session, 'lease', 'until', 'asked', 'again')
    redis.call('ZREM', running, session_token)
  end
  redis.call('ZREM', waiting, run)
  redis.call('ZREM', queued, session_token .. ' ' .. run)
  redis.call('HDEL', waiting_runs, run)
  note_ready()
end
local function is_idle()
  return not redis.call('HGET', session, 'lease') and redis.call('EXISTS', waiting, ready) == 0
end
`;

// Returns all fields of an invocation's hash, except the fields that make repeated commits harmless.
export const readInvocation = `
local function read_invocation(key)
  local all, wanted = redis.call('HGETALL', key), {}
  for n = 1, #all, 2 do
    if string.sub(all[n], 1, 6) ~= 'event:' and string.sub(all[n], 1, 5) ~= 'from:' then
      wanted[#wanted + 1] = all[n]
      wanted[#wanted + 1] = all[n + 1]
    end
  end
  return wanted
end
`;

export const readInvocationScript = defineScript(
  { keys: 'invocation' },
  `${readInvocation}
return read_invocation(invocation)
`,
  'reads',
);

/** Begins an attempt at a part. Returns its number; 0 for a closed part. */
export const attemptScript = defineScript(
  { keys: 'invocation index', args: 'sessionToken runningMs endedMs part' },
  `${touchInvocation}
if redis.call('HGET', invocation, 'part:' .. part) == 'closed' then return 0 end
local number = redis.call('HINCRBY', invocation, 'part:' .. part, 1)
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
return number
`,
);

/** Closes a part: a commit of any attempt at it finds another number. */
export const closePartScript = defineScript(
  { keys: 'invocation index', args: 'sessionToken runningMs endedMs part' },
  `${touchInvocation}
redis.call('HSET', invocation, 'part:' .. part, 'closed')
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
`,
);

/** Notes the tool that works on a call. */
export const noteCallOfToolScript = defineScript(
  { keys: 'invocation index', args: 'sessionToken runningMs endedMs callId tool' },
  `${touchInvocation}
redis.call('HSET', invocation, 'call:' .. call_id, tool)
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
`,
);

/** Removes the note of a call. */
export const dropCallOfToolScript = defineScript(
  { keys: 'invocation', args: 'callId' },
  `return redis.call('HDEL', invocation, 'call:' .. call_id)
`,
  'frees',
);

/** Counts a model call; `fencingToken` is the invocation's or ''. */
export const countScript = defineScript(
  { keys: 'invocation index', args: 'sessionToken runningMs endedMs fencingToken' },
  `${touchInvocation}${isFenced}
if is_fenced(invocation, fencing_token) then return 'fenced' end
local calls = redis.call('HINCRBY', invocation, 'calls', 1)
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
return calls
`,
);

/**
 * Ends a run: `fencingToken` is the invocation's or ''; `run` is the run's name; `resume` is the same for a
 * run that continues an invocation, or ''; `refused` is 1 when the run was refused: then the invocation
 * returns to its state before the run. Returns the record, the number of the session's last event, and 1 when
 * no run is to be started: none has the session or waits for it, and none of the user waits for a free session.
 */
export const endScript = defineScript(
  {
    keys: `invocation index ${queueKeys}`,
    args: 'sessionToken runningMs endedMs fencingToken endJson run resume refused',
  },
  `${touchInvocation}${readInvocation}${isFenced}${leaveSession}
if is_fenced(invocation, fencing_token) then return 'fenced' end
redis.call('HSETNX', invocation, end_field(resume), end_json)
if refused == '1' and resume ~= '' and redis.call('HGET', invocation, 'run') == resume then
  local before = redis.call('HGET', invocation, 'before')
  if before and before ~= '' then redis.call('HSET', invocation, 'run', before) else redis.call('HDEL', invocation, 'run') end
end
leave_session(run)
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
local seq = tonumber(redis.call('HGET', session, 'seq') or 0)
return { read_invocation(invocation), seq, is_idle() and 1 or 0 }
`,
);
