import { script } from '../scripts/script.ts';

/**
 * KEYS meta, entries, terms, order, unembedded, then the keys of sessions and postings. ARGV: the batch as
 * JSON, see `AddBatch`. Adds the memories that the session does not have yet, with all their postings, and
 * moves the session's mark. Returns 0 and does nothing when another process has moved the mark.
 */
export const addMemoriesScript = script(`
local batch = cjson.decode(ARGV[1])
local mark = batch.mark
if mark and (redis.call('HGET', KEYS[1], mark.field) or '') ~= mark.from then return 0 end
for _, memory in ipairs(batch.memories) do
  local session = KEYS[memory.session]
  if not redis.call('ZSCORE', session, memory.member) then
    local number = redis.call('HINCRBY', KEYS[1], 'last', 1)
    redis.call('ZADD', session, number, memory.member)
    redis.call('HSET', KEYS[2], number, memory.entry)
    redis.call('HSET', KEYS[3], number, memory.terms)
    redis.call('ZADD', KEYS[4], number, number)
    if batch.embed then redis.call('SADD', KEYS[5], number) end
    for _, posting in ipairs(memory.postings) do redis.call('ZADD', KEYS[posting[1]], posting[2], number) end
  end
end
if mark then redis.call('HSET', KEYS[1], mark.field, mark.to) end
for n = 1, #KEYS do
  if batch.ttl then redis.call('PEXPIRE', KEYS[n], batch.ttl) else redis.call('PERSIST', KEYS[n]) end
end
return 1
`);

/**
 * KEYS meta, entries, terms, order, unembedded, vectors, then the keys of sessions and postings. ARGV: JSON
 * of the memories to remove, see `dropCall`. A number that now belongs to another memory is left alone.
 * Returns how many were removed, or -1 when the mark has changed.
 */
export const dropMemoriesScript = script(
  `
local batch = cjson.decode(ARGV[1])
local dropped = 0
if batch.unmark then
  local mark = redis.call('HGET', KEYS[1], batch.unmark.field) or ''
  if batch.unmark.from and mark ~= batch.unmark.from then return -1 end
  redis.call('HDEL', KEYS[1], batch.unmark.field)
end
for _, memory in ipairs(batch.memories) do
  local number = memory.number
  if tonumber(redis.call('ZSCORE', KEYS[memory.session], memory.member) or 0) == number then
    redis.call('ZREM', KEYS[memory.session], memory.member)
    redis.call('HDEL', KEYS[2], number)
    redis.call('HDEL', KEYS[3], number)
    redis.call('ZREM', KEYS[4], number)
    redis.call('SREM', KEYS[5], number)
    redis.call('HDEL', KEYS[6], number)
    for _, posting in ipairs(memory.postings) do redis.call('ZREM', KEYS[posting], number) end
    dropped = dropped + 1
  end
end
return dropped
`,
  'frees',
);

/**
 * KEYS order, meta, then all postings of the query's words. ARGV: JSON {words: lists of keys' indexes, limit,
 * width}. Returns the numbers of the best memories, and their scores.
 *
 * For a word that very many memories have, only the `width` memories with its highest weights are candidates;
 * for candidates that a rarer word found, the common word counts in full. So the number of words bounds the
 * work.
 */
export const searchMemoriesScript = script(
  `
local query = cjson.decode(ARGV[1])
local total = redis.call('ZCARD', KEYS[1])
local words = {}
for _, terms in ipairs(query.words) do
  local word = { keys = {}, weights = {}, size = math.huge }
  for at, term in ipairs(terms) do
    local size = redis.call('ZCARD', KEYS[term])
    word.keys[at] = KEYS[term]
    word.weights[at] = math.log(1 + (total - size + 0.5) / (size + 0.5)) / #terms
    if size < word.size then word.size = size end
  end
  if word.size > 0 then words[#words + 1] = word end
end
table.sort(words, function(a, b) return a.size < b.size end)

local scores, candidates = {}, {}
local function credit(number, score)
  if not scores[number] then
    scores[number] = 0
    candidates[#candidates + 1] = number
  end
  scores[number] = scores[number] + score
end
-- A word of several terms matches the memories that have all of them.
local function having_all(word)
  local args = { #word.keys }
  for _, key in ipairs(word.keys) do args[#args + 1] = key end
  args[#args + 1] = 'WEIGHTS'
  for _, weight in ipairs(word.weights) do args[#args + 1] = string.format('%.17g', weight) end
  args[#args + 1] = 'WITHSCORES'
  local found = redis.call('ZINTER', unpack(args))
  for n = #found - 1, math.max(1, #found - 2 * query.width + 1), -2 do credit(found[n], tonumber(found[n + 1])) end
end
local function among_candidates(key, weight)
  for first = 1, #candidates, 1000 do
    local last = math.min(first + 999, #candidates)
    local found = redis.call('ZMSCORE', key, unpack(candidates, first, last))
    for n = first, last do
      if found[n - first + 1] then credit(candidates[n], weight * tonumber(found[n - first + 1])) end
    end
  end
end
local function having_one(key, weight, size)
  local is_common = size > query.width
  if is_common then among_candidates(key, weight) end
  if is_common and #candidates >= query.limit then return end
  local found = redis.call('ZREVRANGE', key, 0, query.width - 1, 'WITHSCORES')
  for n = 1, #found, 2 do
    if not is_common or not scores[found[n]] then credit(found[n], weight * tonumber(found[n + 1])) end
  end
end
for n = 1, math.min(#words, 32) do
  local word = words[n]
  if #word.keys > 1 then having_all(word)
  else having_one(word.keys[1], word.weights[1], word.size) end
end

table.sort(candidates, function(a, b)
  if scores[a] ~= scores[b] then return scores[a] > scores[b] end
  return tonumber(a) > tonumber(b)
end)
local best = {}
for n = 1, math.min(#candidates, query.limit) do
  best[#best + 1] = candidates[n]
  best[#best + 1] = string.format('%.17g', scores[candidates[n]])
end
return best
`,
  'reads',
);

/**
 * KEYS order, then all other keys without the keys of sessions and terms. Deletes the keys when no memory is
 * left.
 */
export const dropEmptyScript = script(
  `
if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
for n = 1, #KEYS do redis.call('DEL', KEYS[n]) end
return 1
`,
  'frees',
);

/**
 * KEYS meta, entries, vectors, unembedded. ARGV name of the vectors. Deletes vectors of another name, and
 * notes all memories as unembedded.
 */
export const adoptVectorsScript = script(`
if redis.call('HGET', KEYS[1], 'vectors') == ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'vectors', ARGV[1])
redis.call('DEL', KEYS[3], KEYS[4])
for _, number in ipairs(redis.call('HKEYS', KEYS[2])) do redis.call('SADD', KEYS[4], number) end
return 1
`);

/**
 * KEYS meta, entries, vectors, unembedded. ARGV name, ttl in ms or '', then per memory its number, its entry
 * and its vector in hexadecimal digits.
 */
export const putVectorsScript = script(`
if redis.call('HGET', KEYS[1], 'vectors') ~= ARGV[1] then return 0 end
for n = 3, #ARGV, 3 do
  if redis.call('HGET', KEYS[2], ARGV[n]) == ARGV[n + 1] then
    local vector = string.gsub(ARGV[n + 2], '..', function(byte) return string.char(tonumber(byte, 16)) end)
    redis.call('HSET', KEYS[3], ARGV[n], vector)
    redis.call('SREM', KEYS[4], ARGV[n])
  end
end
if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[3], ARGV[2]) end
return 1
`);
