import { defineScript } from '../../scripts/define-script.ts';
import { isFenced, leaveSession, queueKeys, touchInvocation } from './invocation-scripts.ts';
import { retain } from './retention.ts';
import { writeFields, writeOutbox } from './state-fields.ts';

// Notes for later turns where an invocation, and a call of it, begins in the log, and which events a summary
// stands for. Uses the local variables of `commitScript`.
const noteTurn = `
local function note_turn(seq)
  redis.call('HSET', session, 'by:' .. author, seq)
  local known = redis.call('HGET', invocation, 'from:' .. session_token)
  local first = tonumber(known or seq)
  for _, id in ipairs(answers) do
    first = math.min(first, tonumber(redis.call('HGET', answered, 'c:' .. id) or seq))
  end
  if tonumber(known) ~= first then redis.call('HSET', invocation, 'from:' .. session_token, first) end
  for _, id in ipairs(asks) do redis.call('HSET', answered, 'c:' .. id, first) end
  if through == 'rewound' then
    for _, field in ipairs(redis.call('HKEYS', session)) do
      if string.sub(field, 1, 8) == 'through:' then redis.call('HDEL', session, field) end
    end
  elseif through ~= '' then redis.call('HSET', session, 'through:' .. agent, through) end
  return first
end
`;

/**
 * Commits an event. `knownSeq` is the last event that the caller knows, `fencingToken` the invocation's or
 * '', `part` and `attempt` the attempt's or '', `whileOpen` the field of the call that must be pending or ''.
 * For later turns: `asks` are the calls that the event leaves open, `answers` the calls to which it responds,
 * `agent` and `through` are the agent of a summary and the last event that it stands for, or '' and '', or ''
 * and 'rewound' where all summaries are void. `opened` are the new pending calls, each its field and JSON;
 * `closed` are the calls that are no longer pending, each its field, its id and its answer. `aside` is 1 for
 * an event that is committed beside a run. `endJson` is the end of the run `endRun`, or ''; `endResume` is
 * the same name for a run that continues the invocation, or ''.
 *
 * Returns seq, 1 for a repetition, and the outbox; or a word for the reason why nothing was done.
 */
export const commitScript = defineScript(
  {
    keys: [
      ...queueKeys,
      'events',
      'state',
      'user',
      'sessions',
      'invocation',
      'outbox',
      'pending',
      'answered',
      'hiddenSessions',
      'index',
      'sessionEnds',
    ],
    args: [
      'id',
      'sessionToken',
      'eventId',
      'event',
      'timestamp',
      'invocationId',
      'knownSeq',
      'runningMs',
      'endedMs',
      'fencingToken',
      'modelTokens',
      'part',
      'attempt',
      'whileOpen',
      'agent',
      'through',
      'author',
      'aside',
      'ttl',
      'most',
      'endJson',
      'endRun',
      'endResume',
    ],
    lists: ['sessionState', 'userState', 'tempState', 'appState', 'opened', 'closed', 'asks', 'answers'],
  },
  `${writeFields}${writeOutbox}${touchInvocation}${isFenced}${leaveSession}${noteTurn}${retain}
local seq = redis.call('HGET', session, 'seq')
if not seq then return 'gone' end
if is_fenced(invocation, fencing_token) then return 'fenced' end
if fencing_token ~= '' then
  local holder, hidden = unpack(redis.call('HMGET', session, 'lease', 'hidden'))
  local run = redis.call('HGET', invocation, 'run') or invocation_id
  -- Nobody holds the session of a call: it belongs to the run of its caller.
  if holder ~= run and (holder or hidden == '0') then return 'fenced' end
  if is_over(invocation) then return 'fenced' end
end
if part ~= '' and redis.call('HGET', invocation, 'part:' .. part) ~= attempt then return 'repeated' end
local commit = 'event:' .. session_token .. ':' .. event_id
local before = redis.call('HGET', invocation, commit)
if before then return { tonumber(before), 1, redis.call('XRANGE', outbox, '-', '+') } end
if tonumber(known_seq) > tonumber(seq) then return 'other' end
if while_open ~= '' and redis.call('HEXISTS', pending, while_open) == 0 then return 'late' end
local is_known = redis.call('EXISTS', invocation) == 1
seq = redis.call('HINCRBY', session, 'seq', 1)
redis.call('XADD', events, '0-' .. seq, 'e', event)
redis.call('HSET', session, 'updated', timestamp)
local list = redis.call('HGET', session, 'hidden') == '0' and sessions or hidden_sessions
redis.call('ZADD', list, timestamp, id)
redis.call('HSET', invocation, commit, seq)
if fencing_token ~= '' then redis.call('HDEL', invocation, 'begun') end
if model_tokens ~= '0' then redis.call('HINCRBY', invocation, 'tokens', model_tokens) end
write_fields(state, '', session_state)
write_fields(user, '', user_state)
write_fields(invocation, 'temp:', temp_state)
write_outbox(outbox, session, app_state)
write_fields(pending, '', opened)
for n = 1, #closed, 3 do
  if redis.call('HDEL', pending, closed[n]) == 1 then redis.call('HSETNX', answered, closed[n + 1], closed[n + 2]) end
end
local first = note_turn(seq)
-- The first event that the holding run needs; events that others commit beside it do not change it.
if fencing_token ~= '' then redis.call('HSET', session, 'work', first) end
if aside == '1' and not is_known then redis.call('HSET', invocation, 'end', '{"status":"completed"}') end
if end_json ~= '' then
  redis.call('HSETNX', invocation, end_field(end_resume), end_json)
  leave_session(end_run)
end
touch_invocation(invocation, index, session_token, running_ms, ended_ms)
trim(session, events, pending, answered, invocation, session_token, seq, most)
retain(session, events, state, list, session_ends, answered, id, ttl)
return { seq, 0, redis.call('XRANGE', outbox, '-', '+') }
`,
);
