/** The time for which sessions are kept, and the number of their events. */
export interface Retention {
  /** Time after its last event at which a session is deleted, ms; absent: never. */
  sessionTtlMs?: number;
  /**
   * Number of last events that a session keeps, beside the events that a run or a pending call still needs;
   * absent to keep all events.
   */
  maxEvents?: number;
}

/** Returns the retention of an app. */
export type RetentionOf = (appName: string) => Retention;

/** Returns the arguments of {@link retain} and `trim`: '' where all is kept for ever. */
export function retentionValues({ sessionTtlMs, maxEvents }: Retention) {
  return { ttl: sessionTtlMs ?? '', most: maxEvents ?? '' };
}

/** Time for which a session is kept whose history has not come to its end, ms. */
const unfinishedMs = 3_600_000;

/** Returns the time to live of a session whose history is not complete yet. */
export function unfinishedTtl({ sessionTtlMs = unfinishedMs }: Retention): number {
  return Math.min(sessionTtlMs, unfinishedMs);
}

/**
 * Least time for which a child session waits for an answer, ms. A child session is also deleted with the
 * session of its call.
 */
const hiddenMs = 90 * 86_400_000;

// All keys of a session expire at the same instant. Events carry their authors' times, so the end of a
// session is kept beside the list.
export const retain = `
local function retain(session, events, state, sessions, ends, answered, id, ttl)
  if ttl == '' then return end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local is_hidden = redis.call('HGET', session, 'hidden') == '1'
  local at = string.format('%d', now + (is_hidden and math.max(ttl, ${hiddenMs}) or ttl))
  for _, key in ipairs({ session, events, state, answered }) do redis.call('PEXPIREAT', key, at) end
  if not is_hidden then redis.call('ZADD', ends, at, id) end
end
-- Cuts off events when there are a tenth too many, which costs less than one event at a time.
local function trim(session, events, pending, answered, invocation, token, seq, most)
  if most == '' or seq <= most * 1.1 + tonumber(redis.call('HGET', session, 'first') or 1) - 1 then return end
  local work = tonumber(redis.call('HGET', session, 'work') or seq)
  local first = math.min(seq - most + 1, work, tonumber(redis.call('HGET', invocation, 'from:' .. token) or seq))
  local own = token .. ':'
  for _, field in ipairs(redis.call('HKEYS', pending)) do
    if string.sub(field, 1, #own) == own then
      first = math.min(first, tonumber(redis.call('HGET', answered, 'c:' .. string.sub(field, #own + 1)) or 1))
    end
  end
  if first <= 1 then return end
  redis.call('XTRIM', events, 'MINID', string.format('0-%d', first))
  redis.call('HSET', session, 'first', string.format('%d', first))
end
`;

// Keeps a session for ever that had an end until now.
export const keep = `
local function keep(session, events, state, ends, id)
  for _, key in ipairs({ session, events, state }) do redis.call('PERSIST', key) end
  redis.call('ZREM', ends, id)
end
`;
