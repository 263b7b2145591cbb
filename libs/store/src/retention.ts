/** How long sessions are kept, and how much of them. */
export interface Retention {
  /** A session goes so long after its last event, ms; absent: never. */
  sessionTtlMs?: number;
  /** Of a session the last so many events are kept, and those that a run, or a call that waits, still needs; absent: all. */
  maxEvents?: number;
}

/** What applies to an app. */
export type RetentionOf = (appName: string) => Retention;

/** The arguments that {@link retain} reads: '' for what is kept for ever. */
export function retentionArgs({ sessionTtlMs, maxEvents }: Retention): (string | number)[] {
  return [sessionTtlMs ?? '', maxEvents ?? ''];
}

// All keys of a session end at one instant: none outlives the others. What is left over by a tenth is cut off in one go, which costs less than an event at a time.
export const retain = `
local function retain(session, events, state, sessions, answered, ttl)
  if ttl == '' then return end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local at = string.format('%d', now + ttl)
  for _, key in ipairs({ session, events, state, answered }) do redis.call('PEXPIREAT', key, at) end
  redis.call('PEXPIREAT', sessions, at, 'GT')
  if redis.call('PTTL', sessions) == -1 then redis.call('PEXPIREAT', sessions, at) end
  redis.call('ZREMRANGEBYSCORE', sessions, '-inf', string.format('(%d', now - ttl))
end
local function trim(session, events, pending, answered, invocation, token, seq, most)
  if most == '' or seq <= most * 1.1 + tonumber(redis.call('HGET', session, 'first') or 1) - 1 then return end
  local first = math.min(seq - most + 1, tonumber(redis.call('HGET', invocation, 'from:' .. token) or seq))
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
