import { noteKey } from '../scripts/expiring-key.ts';
import { script } from '../scripts/script.ts';

// Of a continued invocation, `run` is the run that continued it last, by its name; each run has an end of its own.
const endField = `
local function end_field(run)
  return (not run or run == '') and 'end' or 'end:' .. run
end
local function is_over(key)
  return redis.call('HEXISTS', key, end_field(redis.call('HGET', key, 'run'))) == 1
end
`;

export const touchInvocation = `${endField}${noteKey}
local function touch_invocation(key, index, session, running_ms, ended_ms)
  redis.call('HSETNX', key, 'owner', session)
  local ttl = is_over(key) and ended_ms or running_ms
  redis.call('PEXPIRE', key, ttl)
  note_key(index, key, ttl)
end
`;

// The fence: whoever took over counted the token up, in the same hash, so that no write of the former holder comes after. Without a token
// there, the session was deleted since; another one of its id is none of this run's.
export const isFenced = `
local function is_fenced(key, token)
  local current = redis.call('HGET', key, 'token')
  return token ~= '' and (not current or tonumber(token) < tonumber(current))
end
`;

// What an invocation that has ended no longer has: the session, or its place in the queue.
export const leaveSession = `
local function leave_session(session, waiting, runs, id)
  if redis.call('HGET', session, 'lease') == id then redis.call('HDEL', session, 'lease', 'until') end
  redis.call('ZREM', waiting, id)
  redis.call('HDEL', runs, id)
end
`;

// Of the hash that an invocation is, all but what makes repeated commits harmless.
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

/** KEYS invocation. */
export const readInvocationScript = script(`${readInvocation}
return read_invocation(KEYS[1])
`);

/** KEYS invocation, index. ARGV session token, ttl running, ttl ended, part. Returns the attempt's number. */
export const attemptScript = script(`${touchInvocation}
local number = redis.call('HINCRBY', KEYS[1], 'part:' .. ARGV[4], 1)
touch_invocation(KEYS[1], KEYS[2], unpack(ARGV, 1, 3))
return number
`);

/** KEYS invocation, index. ARGV session token, ttl running, ttl ended, the invocation's token or ''. */
export const countScript = script(`${touchInvocation}${isFenced}
if is_fenced(KEYS[1], ARGV[4]) then return 'fenced' end
local calls = redis.call('HINCRBY', KEYS[1], 'calls', 1)
touch_invocation(KEYS[1], KEYS[2], unpack(ARGV, 1, 3))
return calls
`);

/**
 * KEYS invocation, index, session, waiting, waiting runs.
 * ARGV session token, ttl running, ttl ended, the invocation's token or '', end, name of the run, the same for a run that continues or '', 1 when it
 * was refused: then the invocation is again what it was before.
 */
export const endScript = script(`${touchInvocation}${readInvocation}${isFenced}${leaveSession}
local run = ARGV[7]
if is_fenced(KEYS[1], ARGV[4]) then return 'fenced' end
redis.call('HSETNX', KEYS[1], end_field(run), ARGV[5])
if ARGV[8] == '1' and run ~= '' and redis.call('HGET', KEYS[1], 'run') == run then
  local before = redis.call('HGET', KEYS[1], 'before')
  if before and before ~= '' then redis.call('HSET', KEYS[1], 'run', before) else redis.call('HDEL', KEYS[1], 'run') end
end
leave_session(KEYS[3], KEYS[4], KEYS[5], ARGV[6])
touch_invocation(KEYS[1], KEYS[2], unpack(ARGV, 1, 3))
return read_invocation(KEYS[1])
`);
