/** Time for which the lists of a user's runs are kept after their last change, in ms: longer than any run. */
const keptMs = 7 * 86_400_000;

// Keeps the lists of a user's runs. Uses the local variables of the scripts: the keys `session`, `waiting`,
// `running`, `ready` and `queued`, and `session_token`. A session that no run has is ready while a run waits
// in its queue; its place in the list is the place of this run.
export const noteReady = `
local function note_ready()
  local seq, holder = unpack(redis.call('HMGET', session, 'seq', 'lease'))
  local first = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  if seq and not holder and first[1] then
    redis.call('ZADD', ready, first[2], session_token)
    redis.call('PEXPIRE', ready, ${keptMs})
  else redis.call('ZREM', ready, session_token) end
end
`;

// Counts the sessions of the user in which a run is at work. A holder that gives no sign of life does not count,
// so that no crash can use up the share of a user. A limit of '' is no limit.
export const hasRoom = `
local function has_room(limit)
  if limit == '' then return true end
  return redis.call('ZCOUNT', running, string.format('(%d', now_ms()), '+inf') < tonumber(limit)
end
`;

// Notes that a run of the session is at work. A run that does not count for the share of its user only renews
// what is noted.
export const noteRunning = `
local function note_running(lease_ms, counts)
  local lease_end = string.format('%d', now_ms() + tonumber(lease_ms))
  if not counts then return redis.call('ZADD', running, 'XX', lease_end, session_token) end
  redis.call('ZADD', running, lease_end, session_token)
  redis.call('PEXPIRE', running, ${keptMs})
end
`;

// Notes that a run waits in a queue of the user, until the queue itself expires. Returns false, and notes
// nothing, when the user has too many.
export const noteQueued = `
local function note_queued(run, limit, expires_ms)
  redis.call('ZREMRANGEBYSCORE', queued, '-inf', string.format('%d', now_ms()))
  local name = session_token .. ' ' .. run
  local is_known = redis.call('ZSCORE', queued, name)
  if not is_known and limit ~= '' and redis.call('ZCARD', queued) >= tonumber(limit) then return false end
  redis.call('ZADD', queued, string.format('%d', now_ms() + tonumber(expires_ms)), name)
  redis.call('PEXPIRE', queued, ${keptMs})
  return true
end
`;
