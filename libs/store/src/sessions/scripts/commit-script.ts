import { defineScript } from '../../scripts/define-script.ts';
import { isFenced, leaveSession, queueKeys, touchInvocation } from './invocation-scripts.ts';
import { retain } from './retention.ts';
import { writeFields, writeOutbox } from './state-fields.ts';

// Returns where the invocation begins in the log; notes for later turns where its calls begin, and which events
// a summary stands for. Uses the local variables of `commitScript`.
const noteTurn = `
local function note_turn(seq, known)
  local first = tonumber(known or seq)
  for _, id in ipairs(answers) do
    first = math.min(first, tonumber(redis.call('HGET', answered, 'c:' .. id) or seq))
  end
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
 * the same name for a run that continues the invocation, or ''. `calls` is the number of model calls to count.
 *
 * Returns seq, 1 for a repetition, the outbox, the model calls of the invocation, and 1 for an end after which no
 * run is to be started; or a word for the reason why nothing was done.
 */
export const commitScript = defineScript(
  {
    keys: `
      ${queueKeys} events state user sessions invocation outbox pending answered hiddenSessions index
      sessionEnds`,
    args: `
      id sessionToken eventId event timestamp invocationId knownSeq runningMs endedMs fencingToken
      modelTokens part attempt whileOpen agent through author aside ttl most endJson endRun endResume
      calls`,
    lists: 'sessionState userState tempState appState opened closed asks answers',
  },
  `${writeFields}${writeOutbox}${touchInvocation}${isFenced}${leaveSession}${noteTurn}${retain}
local seq, holder, hidden = unpack(redis.call('HMGET', session, 'seq', 'lease', 'hidden'))
if not seq then return 'gone' end
local commit, from = 'event:' .. session_token .. ':' .. event_id, 'from:' .. session_token
local token, run, ended, before, at_attempt, known_first, begun, counted = unpack(
  redis.call('HMGET', invocation, 'token', 'run', 'end', commit, 'part:' .. part, from, 'begun', 'calls'))
if is_older(fencing_token, token) then return 'fenced' end
-- A repeated commit of the last event: the run has left the session by now.
if before and end_json ~= '' then return { tonumber(before), 1, {}, tonumber(counted or 0), is_idle() and 1 or 0 } end
if fencing_token ~= '' then
  -- Nobody holds the session of a call: it belongs to the run of its caller.
  if holder ~= (run or invocation_id) and (holder or hidden == '0') then return 'fenced' end
end
local over = has_ended(invocation, run, ended)
if over and fencing_token ~= '' then return 'fenced' end
if part ~= '' and at_attempt ~= attempt then return 'repeated' end
counted = tonumber(counted or 0)
if before then return { tonumber(before), 1, redis.call('XRANGE', outbox, '-', '+'), counted } end
if tonumber(known_seq) > tonumber(seq) then return 'other' end
if while_open ~= '' and redis.call('HEXISTS', pending, while_open) == 0 then return 'late' end
if aside == '1' and redis.call('EXISTS', invocation) == 0 then
  redis.call('HSET', invocation, 'end', '{"status":"completed"}')
  over = true
end
seq = tonumber(seq) + 1
redis.call('XADD', events, '0-' .. seq, 'e', event)
local list = hidden == '0' and sessions or hidden_sessions
redis.call('ZADD', list, timestamp, id)
local first = note_turn(seq, known_first)
local facts = { 'seq', seq, 'updated', timestamp, 'by:' .. author, seq }
-- The first event that the holding run needs; events that others commit beside it do not change it.
if fencing_token ~= '' then
  facts[7], facts[8] = 'work', first
end
redis.call('HSET', session, unpack(facts))
redis.call('HSET', invocation, commit, seq, from, first)
-- The message of a run is no step of it: a run that kills each process would else outlive one more.
if begun and fencing_token ~= '' and author ~= 'user' then redis.call('HDEL', invocation, 'begun') end
if calls ~= '0' then counted = redis.call('HINCRBY', invocation, 'calls', calls) end
if model_tokens ~= '0' then redis.call('HINCRBY', invocation, 'tokens', model_tokens) end
write_fields(state, '', session_state)
write_fields(user, '', user_state)
write_fields(invocation, 'temp:', temp_state)
write_outbox(outbox, session, app_state)
write_fields(pending, '', opened)
for n = 1, #closed, 3 do
  if redis.call('HDEL', pending, closed[n]) == 1 then redis.call('HSETNX', answered, closed[n + 1], closed[n + 2]) end
end
if end_json ~= '' then
  redis.call('HSETNX', invocation, end_field(end_resume), end_json)
  leave_session(end_run)
  over = nil
end
touch_invocation(invocation, index, session_token, running_ms, ended_ms, over)
trim(session, events, pending, answered, invocation, session_token, seq, most)
retain(session, events, state, list, session_ends, answered, id, ttl)
-- The next read applies what a crash has left in the outbox.
return { seq, 0, #app_state > 0 and redis.call('XRANGE', outbox, '-', '+') or {}, counted, end_json ~= '' and is_idle() and 1 or 0 }
`,
);
