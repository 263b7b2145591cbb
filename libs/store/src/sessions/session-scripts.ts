import { script } from '../scripts/script.ts';
import { isFenced, touchInvocation } from './invocation-scripts.ts';
import { retain } from './retention.ts';

// Lua's unpack() takes some 8,000 values and a delta may have more: fields are written one by one.
const writeFields = `
local at = 0
local function next_arg() at = at + 1; return ARGV[at] end
local function write_fields(key, prefix)
  for _ = 1, tonumber(next_arg()) do redis.call('HSET', key, prefix .. next_arg(), next_arg()) end
end
`;

// The outbox entry's id is the commit's time in microseconds, which orders the commits of all users. The clock may step back, as that of a
// replica does that is promoted: those of one session continue from its last id, and '*' continues from the stream's, as ids must grow.
const writeOutbox = `
local function write_outbox(key, session)
  local fields = {}
  for n = 1, 2 * tonumber(next_arg()) do fields[n] = next_arg() end
  for first = 1, #fields, 4000 do
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local before = tonumber(string.match(redis.call('HGET', session, 'outbox') or '', '^%d+'))
    if before and now <= before then now = before + 1 end
    local last = math.min(first + 3999, #fields)
    local id = redis.pcall('XADD', key, string.format('%.0f', now) .. '-' .. first, unpack(fields, first, last))
    if type(id) == 'table' then id = redis.call('XADD', key, '*', unpack(fields, first, last)) end
    redis.call('HSET', session, 'outbox', id)
  end
end
`;

// What turns to come need: where an invocation, and the call of one, begins in the log; and what a summary stands for.
const noteTurn = `
local function list_arg()
  local list = {}
  for n = 1, tonumber(next_arg()) do list[n] = next_arg() end
  return list
end
local function note_turn(session, invocation, answered, token, seq)
  local asks, answers, agent, through, author = list_arg(), list_arg(), next_arg(), next_arg(), next_arg()
  redis.call('HSET', session, 'by:' .. author, seq)
  local known = redis.call('HGET', invocation, 'from:' .. token)
  local first = tonumber(known or seq)
  for _, id in ipairs(answers) do
    first = math.min(first, tonumber(redis.call('HGET', answered, 'c:' .. id) or seq))
  end
  if tonumber(known) ~= first then redis.call('HSET', invocation, 'from:' .. token, first) end
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
 * KEYS session, state, user, the list that it belongs in, outbox, ends of sessions.
 * ARGV nonce, id, now, hidden, state of the session as JSON, how long it is kept in ms or '', then session, user and app entries, each with its count before it.
 * The nonce tells a repetition of our own call from a second creator.
 */
export const createScript = script(`${writeFields}${writeOutbox}${retain}
local nonce, id, now, hidden, initial, ttl = next_arg(), next_arg(), next_arg(), next_arg(), next_arg(), next_arg()
local known = redis.call('HGET', KEYS[1], 'nonce')
if known and known ~= nonce then return false end
if not known then
  redis.call('HSET', KEYS[1], 'nonce', nonce, 'created', now, 'updated', now, 'seq', 0, 'hidden', hidden)
  redis.call('ZADD', KEYS[4], now, id)
  if initial ~= '{}' then redis.call('HSET', KEYS[1], 'initial', initial) end
  write_fields(KEYS[2], '')
  write_fields(KEYS[3], '')
  write_outbox(KEYS[5], KEYS[1])
  retain(KEYS[1], KEYS[1], KEYS[2], KEYS[4], KEYS[6], KEYS[1], id, ttl)
end
return { redis.call('HGETALL', KEYS[3]), redis.call('XRANGE', KEYS[5], '-', '+') }
`);

/**
 * KEYS session, events, state, user, sessions, invocation, outbox, pending, answered, hidden sessions, index, ends of sessions.
 * ARGV session id, session token, event id, event, timestamp, invocation id, seq the caller knows, ttl of a running and of an ended
 * invocation in ms, the invocation's token or '', tokens of the model, part and attempt or '', the field of the call that must wait or '', then session, user, temp and app entries, calls that wait from now on,
 * those that wait no longer, each as its field, its id and its answer, ids of calls that it leaves open, of those that it says something to, an
 * agent and what its summary stands for up to, or '' and '' or, where all summaries are void, 'rewound', '1' for an event that comes aside, and
 * what is kept of the session.
 * Returns seq, 1 for a repetition, the outbox; or the word for why nothing was done.
 */
export const commitScript =
  script(`${writeFields}${writeOutbox}${touchInvocation}${isFenced}${noteTurn}${retain}
local id, token, event_id, event, timestamp = next_arg(), next_arg(), next_arg(), next_arg(), next_arg()
local invocation, known_seq, running_ms, ended_ms, fence = next_arg(), next_arg(), next_arg(), next_arg(), next_arg()
local tokens, part, attempt, while_open = next_arg(), next_arg(), next_arg(), next_arg()
local seq = redis.call('HGET', KEYS[1], 'seq')
if not seq then return 'gone' end
if is_fenced(KEYS[6], fence) then return 'fenced' end
if fence ~= '' then
  local holder = redis.call('HGET', KEYS[1], 'lease')
  if holder and holder ~= (redis.call('HGET', KEYS[6], 'run') or invocation) then return 'fenced' end
  if is_over(KEYS[6]) then return 'fenced' end
end
if part ~= '' and redis.call('HGET', KEYS[6], 'part:' .. part) ~= attempt then return 'repeated' end
local field = 'event:' .. token .. ':' .. event_id
local before = redis.call('HGET', KEYS[6], field)
if before then return { tonumber(before), 1, redis.call('XRANGE', KEYS[7], '-', '+') } end
if tonumber(known_seq) > tonumber(seq) then return 'other' end
if while_open ~= '' and redis.call('HEXISTS', KEYS[8], while_open) == 0 then return 'late' end
local is_known = redis.call('EXISTS', KEYS[6]) == 1
seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
redis.call('XADD', KEYS[2], '0-' .. seq, 'e', event)
redis.call('HSET', KEYS[1], 'updated', timestamp)
local list = redis.call('HGET', KEYS[1], 'hidden') == '0' and KEYS[5] or KEYS[10]
redis.call('ZADD', list, timestamp, id)
redis.call('HSET', KEYS[6], field, seq)
if fence ~= '' then redis.call('HDEL', KEYS[6], 'begun') end
if tokens ~= '0' then redis.call('HINCRBY', KEYS[6], 'tokens', tokens) end
write_fields(KEYS[3], '')
write_fields(KEYS[4], '')
write_fields(KEYS[6], 'temp:')
write_outbox(KEYS[7], KEYS[1])
write_fields(KEYS[8], '')
for _ = 1, tonumber(next_arg()) do
  local field, answered, answer = next_arg(), next_arg(), next_arg()
  if redis.call('HDEL', KEYS[8], field) == 1 then redis.call('HSETNX', KEYS[9], answered, answer) end
end
local first = note_turn(KEYS[1], KEYS[6], KEYS[9], token, seq)
-- What the run that has the session goes back to, also where others commit beside it.
if fence ~= '' then redis.call('HSET', KEYS[1], 'work', first) end
local is_aside, ttl, most = next_arg(), next_arg(), next_arg()
if is_aside == '1' and not is_known then redis.call('HSET', KEYS[6], 'end', '{"status":"completed"}') end
touch_invocation(KEYS[6], KEYS[11], token, running_ms, ended_ms)
trim(KEYS[1], KEYS[2], KEYS[8], KEYS[9], KEYS[6], token, seq, most)
retain(KEYS[1], KEYS[2], KEYS[3], list, KEYS[12], KEYS[9], id, ttl)
return { seq, 0, redis.call('XRANGE', KEYS[7], '-', '+') }
`);

/**
 * KEYS session, state, user, events, outbox. ARGV how many events at most, and behind which seq: the last ones, newest first. One consistent
 * picture.
 */
export const readScript = script(`
local meta = redis.call('HMGET', KEYS[1], 'updated', 'seq', 'first')
if not meta[2] then return false end
local count, events = tonumber(ARGV[1]), {}
if count > 0 then
  events = redis.call('XREVRANGE', KEYS[4], '+', '0-' .. string.format('%d', ARGV[2] + 1), 'COUNT', count)
end
return { meta, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]), events, redis.call('XRANGE', KEYS[5], '-', '+') }
`);

/**
 * KEYS session, state, user, events, outbox, invocation, answered. ARGV how many events at most, what the reader knows or 0, session token, how many of the
 * last ones or '', from which on or '', then the agents whose summaries count, ids of calls that are answered, and
 * authors of whom it is needed who spoke last, each with their count. Returns
 * also the number of the first event that is needed.
 */
export const readTurnScript = script(`
local at = 0
local function next_arg() at = at + 1; return ARGV[at] end
local meta = redis.call('HMGET', KEYS[1], 'updated', 'seq', 'first', 'nonce')
if not meta[2] then return false end
local seq, first = tonumber(meta[2]), nil
local function reach(number)
  if number and (not first or tonumber(number) < first) then first = tonumber(number) end
end
local limit, known, token, last, from = tonumber(next_arg()), tonumber(next_arg()), next_arg(), next_arg(), next_arg()
if last ~= '' then reach(seq - last + 1) end
for _ = 1, tonumber(next_arg()) do reach((redis.call('HGET', KEYS[1], 'through:' .. next_arg()) or 0) + 1) end
if not first then first = 1 end
for _ = 1, tonumber(next_arg()) do reach(redis.call('HGET', KEYS[7], 'c:' .. next_arg())) end
local spoken = 0
for _ = 1, tonumber(next_arg()) do
  spoken = math.max(spoken, tonumber(redis.call('HGET', KEYS[1], 'by:' .. next_arg()) or 0))
end
if spoken > 0 then reach(spoken) end
reach(redis.call('HGET', KEYS[6], 'from:' .. token))
if from ~= '' then reach(from) end
first = math.max(first, 1, tonumber(meta[3] or 1))
local start = string.format('0-%d', math.max(first, known))
local events = redis.call('XREVRANGE', KEYS[4], '+', start, 'COUNT', limit)
return { meta, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]), events, redis.call('XRANGE', KEYS[5], '-', '+'), first }
`);

/**
 * KEYS session, events, state, sessions, ends of sessions. ARGV session id, the seq that it must have, timestamp, id of the last event, events with their count, entries
 * of the state with theirs, authors and the number of the last event of each with theirs, and how long it is kept in ms or ''. Returns 1, 'gone', or the seq that it has instead.
 */
export const appendHistoryScript = script(`${writeFields}${retain}
local id, after, timestamp, last = next_arg(), tonumber(next_arg()), next_arg(), next_arg()
local seq, hidden = unpack(redis.call('HMGET', KEYS[1], 'seq', 'hidden'))
if not seq then return 'gone' end
local count = tonumber(next_arg())
if tonumber(seq) ~= after then
  local there = redis.call('HGET', KEYS[1], 'history')
  if there == (after + count) .. ' ' .. last then return 1 end
  return tonumber(seq)
end
for n = 1, count do redis.call('XADD', KEYS[2], string.format('0-%d', after + n), 'e', next_arg()) end
redis.call('HSET', KEYS[1], 'seq', string.format('%d', after + count), 'updated', timestamp, 'history', (after + count) .. ' ' .. last)
if hidden == '0' then redis.call('ZADD', KEYS[4], timestamp, id) end
write_fields(KEYS[3], '')
write_fields(KEYS[1], 'by:')
retain(KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[1], id, next_arg())
return 1
`);

/** KEYS sessions, ends of sessions. Takes those that have ended off the list: Redis itself has removed them. */
export const dropEndedScript = script(`
local time = redis.call('TIME')
local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
return 1
`);

/**
 * KEYS app. ARGV user token, then per outbox entry its id, its number of pairs, the pairs.
 * A field holds '<id> <user token> <json>'; the later commit wins whatever the order of arrival, so that applying again is harmless.
 */
export const applyAppScript = script(`${writeFields}
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

/** KEYS outbox. ARGV ids of applied entries. The empty stream goes, as thousands of users would each leave one. */
export const dropOutboxScript = script(`
for _, id in ipairs(ARGV) do redis.call('XDEL', KEYS[1], id) end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return 1
`);
