import { defineScript } from '../../scripts/define-script.ts';
import { endField, queueKeys, touchInvocation } from './invocation-scripts.ts';

const args = `sessionToken eventId event timestamp invocationId knownSeq runningMs
  fencingToken modelTokens author calls` as const;

// All that the full script would refuse, repeat, or write besides is unusual, and nothing is written then. `work`
// and `from` are what the first commit of the run has noted; the time to live is renewed by the full script.
const check = `
local seq, holder, hidden, work = unpack(redis.call('HMGET', session, 'seq', 'lease', 'hidden', 'work'))
local commit = 'event:' .. session_token .. ':' .. event_id
local token, run, ended, before, first, begun, counted = unpack(redis.call('HMGET', invocation,
  'token', 'run', 'end', commit, 'from:' .. session_token, 'begun', 'calls'))
local left = redis.call('PTTL', invocation)
if not seq or before or token ~= fencing_token or has_ended(invocation, run, ended)
  or (holder or hidden == '0') and holder ~= (run or invocation_id)
  or tonumber(known_seq) > tonumber(seq) or not first or work ~= first
  or left > tonumber(running_ms) or left <= running_ms * 23 / 24 then return 'unusual' end
`;

const write = `
seq = tonumber(seq) + 1
counted = tonumber(counted or 0)
redis.call('XADD', events, '0-' .. seq, 'e', event)
redis.call('HSET', session, 'seq', seq, 'updated', timestamp, 'by:' .. author, seq)
redis.call('HSET', invocation, commit, seq)
if begun then redis.call('HDEL', invocation, 'begun') end
if calls ~= '0' then counted = redis.call('HINCRBY', invocation, 'calls', calls) end
if model_tokens ~= '0' then redis.call('HINCRBY', invocation, 'tokens', model_tokens) end
`;

/**
 * Commits an event as the full script does, for the run that has the session: an event that changes no state, opens
 * and answers no call, and is neither the first nor the last one of its run. The lists are touched at the begin and
 * the end of a run alone. Returns the reply of the full script; or `unusual`, for which the full script decides.
 */
export const plainCommitScript = defineScript(
  { keys: 'session events invocation', args },
  `${endField}${check}${write}return { seq, 0, {}, counted, 0 }
`,
);

/** Commits the last event of a run in the same way, if no run waits. */
export const plainEndScript = defineScript(
  {
    keys: `${queueKeys} events invocation sessions index`,
    args: `${args} id endedMs endJson`,
  },
  `${touchInvocation}${check}
if run or not holder or hidden ~= '0' or redis.call('EXISTS', waiting, ready) > 0 then return 'unusual' end
${write}
redis.call('ZADD', sessions, timestamp, id)
redis.call('HSET', invocation, 'end', end_json)
redis.call('HDEL', session, 'lease', 'until', 'asked', 'again')
redis.call('ZREM', running, session_token)
redis.call('ZREM', queued, session_token .. ' ' .. holder)
redis.call('HDEL', waiting_runs, holder)
touch_invocation(invocation, index, session_token, running_ms, ended_ms, true)
return { seq, 0, {}, counted, 1 }
`,
);
