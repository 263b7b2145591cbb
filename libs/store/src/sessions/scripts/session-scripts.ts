import { defineScript } from '../../scripts/define-script.ts';
import { script } from '../../scripts/script.ts';
import { keep, retain } from './retention.ts';
import { writeFields, writeOutbox } from './state-fields.ts';

/**
 * Creates a session: `list` is the list to which it belongs, `initial` its own state as JSON, `ttl` its
 * retention in ms or ''. The nonce distinguishes a repetition of the same call from a second creator.
 */
export const createScript = defineScript(
  {
    keys: 'session state user list outbox sessionEnds app',
    args: 'nonce id now hidden initial ttl',
    lists: 'sessionState userState appState',
  },
  `${writeFields}${writeOutbox}${retain}
local known = redis.call('HGET', session, 'nonce')
if known and known ~= nonce then return false end
if not known then
  redis.call('HSET', session, 'nonce', nonce, 'created', now, 'updated', now, 'seq', 0, 'hidden', hidden)
  redis.call('ZADD', list, now, id)
  if initial ~= '{}' then redis.call('HSET', session, 'initial', initial) end
  write_fields(state, '', session_state)
  write_fields(user, '', user_state)
  write_outbox(outbox, session, app_state)
  retain(session, session, state, list, session_ends, session, id, ttl)
end
return { redis.call('HGETALL', app), redis.call('XRANGE', outbox, '-', '+'), redis.call('HGETALL', user) }
`,
);

/** Reads a session and the app's state, and the last `count` events after `after`, newest first: one consistent picture. */
export const readScript = defineScript(
  { keys: 'session state user events outbox app', args: 'count after' },
  `
local meta = redis.call('HMGET', session, 'updated', 'seq', 'first', 'nonce')
if not meta[2] then return false end
local newest = {}
if tonumber(count) > 0 then
  newest = redis.call('XREVRANGE', events, '+', '0-' .. string.format('%d', after + 1), 'COUNT', count)
end
return { redis.call('HGETALL', app), redis.call('XRANGE', outbox, '-', '+'), meta, redis.call('HGETALL', state), redis.call('HGETALL', user), newest }
`,
  'reads',
);

/** Reads `limit` events at most after `after`, up to `most` bytes together, and at least one event. */
export const readWithinScript = defineScript(
  { keys: 'events', args: 'after limit most' },
  `
local found, bytes, from = {}, 0, '0-' .. string.format('%d', after + 1)
for _ = 1, tonumber(limit) do
  local entry = redis.call('XRANGE', events, from, '+', 'COUNT', 1)[1]
  if not entry then break end
  bytes = bytes + #entry[2][2]
  if #found > 0 and bytes > tonumber(most) then break end
  found[#found + 1] = entry
  from = '(' .. entry[1]
end
return found
`,
  'reads',
);

/**
 * Reads a session for a turn, with `count` events at most, and the number of the first event that the turn
 * needs: see `TurnNeed`. `known` is the last event that the reader has, or 0; `last` and `fromSeq` may be ''.
 */
export const readTurnScript = defineScript(
  {
    keys: 'session state user events outbox app invocation answered',
    args: 'count known sessionToken last fromSeq',
    lists: 'summaries answers authors',
  },
  `
local meta = redis.call('HMGET', session, 'updated', 'seq', 'first', 'nonce')
if not meta[2] then return false end
local seq, first = tonumber(meta[2]), nil
local function reach(number)
  if number and (not first or tonumber(number) < first) then first = tonumber(number) end
end
if last ~= '' then reach(seq - last + 1) end
for _, agent in ipairs(summaries) do reach((redis.call('HGET', session, 'through:' .. agent) or 0) + 1) end
if not first then first = 1 end
for _, id in ipairs(answers) do reach(redis.call('HGET', answered, 'c:' .. id)) end
local spoken = 0
for _, author in ipairs(authors) do
  spoken = math.max(spoken, tonumber(redis.call('HGET', session, 'by:' .. author) or 0))
end
if spoken > 0 then reach(spoken) end
reach(redis.call('HGET', invocation, 'from:' .. session_token))
if from_seq ~= '' then reach(from_seq) end
first = math.max(first, 1, tonumber(meta[3] or 1))
local start = string.format('0-%d', math.max(first, tonumber(known)))
local newest = redis.call('XREVRANGE', events, '+', start, 'COUNT', count)
return { redis.call('HGETALL', app), redis.call('XRANGE', outbox, '-', '+'), meta, redis.call('HGETALL', state), redis.call('HGETALL', user), newest, first }
`,
  'reads',
);

/**
 * Appends history after the event `after`: `lastId` is the id of its last event, `sessionState` its changes
 * of the session's own state, `authors` each author and the number of its last event, `ttl` the session's
 * time to live in ms, or '' for ever. Returns 1, 'gone', or the actual seq of the session.
 */
export const appendHistoryScript = defineScript(
  {
    keys: 'session events state sessions sessionEnds',
    args: 'id after timestamp lastId ttl',
    lists: 'history sessionState authors',
  },
  `${writeFields}${retain}${keep}
local seq, hidden = unpack(redis.call('HMGET', session, 'seq', 'hidden'))
if not seq then return 'gone' end
local last = string.format('%d', after + #history)
local mark = last .. ' ' .. last_id
if tonumber(seq) ~= tonumber(after) then
  if redis.call('HGET', session, 'history') == mark then return 1 end
  return tonumber(seq)
end
for n, event in ipairs(history) do redis.call('XADD', events, string.format('0-%d', after + n), 'e', event) end
redis.call('HSET', session, 'seq', last, 'updated', timestamp, 'history', mark)
if hidden == '0' then redis.call('ZADD', sessions, timestamp, id) end
write_fields(state, '', session_state)
write_fields(session, 'by:', authors)
if ttl == '' then keep(session, events, state, session_ends, id)
else retain(session, events, state, sessions, session_ends, session, id, ttl) end
return 1
`,
);

/**
 * KEYS sessions, ends of sessions. Removes expired sessions from the list: Redis itself has removed their
 * keys.
 */
export const dropEndedScript = script(
  `
local time = redis.call('TIME')
local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
return 1
`,
  'frees',
);

/**
 * KEYS app. ARGV user token, then per outbox entry its id, its number of pairs, the pairs. A field holds
 * '<id> <user token> <json>'; the later commit wins whatever the order of arrival, so a repetition is
 * harmless.
 */
export const applyAppScript = script(`
local at = 0
local function next_arg() at = at + 1; return ARGV[at] end
local user = next_arg()
local function later(time, n, user, current)
  local their_time, their_n, their_user = string.match(current, '^(%d+)-(%d+) (%S+) ')
  if time ~= their_time then return tonumber(time) > tonumber(their_time) end
  if n ~= their_n then return tonumber(n) > tonumber(their_n) end
  return user >= their_user
end
while at < #ARGV do
  local id, pairs_left = next_arg(), tonumber(next_arg())
  local time, n = string.match(id, '^(%d+)-(%d+)$')
  for _ = 1, pairs_left do
    local field, json = next_arg(), next_arg()
    local current = redis.call('HGET', KEYS[1], field)
    if not current or later(time, n, user, current) then
      redis.call('HSET', KEYS[1], field, id .. ' ' .. user .. ' ' .. json)
    end
  end
end
return 1
`);

/**
 * KEYS outbox. ARGV ids of applied entries. Deletes the empty stream: otherwise thousands of users would each
 * leave a stream.
 */
export const dropOutboxScript = script(
  `
for _, id in ipairs(ARGV) do redis.call('XDEL', KEYS[1], id) end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return 1
`,
  'frees',
);
