import { defineScript } from '../../scripts/define-script.ts';
import { noteKey } from '../../scripts/expiring-key.ts';
import { script } from '../../scripts/script.ts';

/**
 * Time for which waiting runs stay in the queue of a deleted session, in ms, so that each can end with an
 * error.
 */
const tellMs = 600_000;

// Ends the invocation of a deleted session, and removes everything else from its record: its command may be
// delivered again, and its clients must be told the same end. The words of an error may hold data of the user.
// Work that has never had or wanted the session leaves nothing.
const keepEnds = `${noteKey}
local function keep_ends(index, key)
  local all, kept, is_run = redis.call('HGETALL', key), {}, false
  local run = redis.call('HGET', key, 'run') or ''
  local current = run == '' and 'end' or 'end:' .. run
  local gone = '{"status":"failed","error":{"code":"not_found","message":"its session was deleted"}}'
  if redis.call('HEXISTS', key, current) == 0 then table.insert(all, current) table.insert(all, gone) end
  for n = 1, #all, 2 do
    is_run = is_run or all[n] == 'home'
    if all[n] == 'run' or all[n] == 'end' or string.sub(all[n], 1, 4) == 'end:' then
      local value = all[n + 1]
      if all[n] ~= 'run' then
        local ending = cjson.decode(value)
        if ending.error then ending.error.message = 'its session was deleted' end
        value = cjson.encode(ending)
      end
      kept[#kept + 1] = all[n]
      kept[#kept + 1] = value
    end
  end
  redis.call('UNLINK', key)
  redis.call('ZREM', index, 'key ' .. key)
  if not is_run then return end
  redis.call('HSET', key, unpack(kept))
  redis.call('PEXPIRE', key, ${tellMs})
  note_key(index, key, ${tellMs})
end
`;

/**
 * Closes the session: nothing is committed to it and nobody takes it any more. Its hash, and its place in the
 * user's list, stay to the end of the deletion, so that a later deletion can finish an interrupted deletion, and
 * the id is not used again meanwhile. Returns the number of waiting runs.
 */
export const closeSessionScript = defineScript(
  { keys: 'session waiting waitingRuns running ready', args: 'sessionToken' },
  `
local holder = redis.call('HGET', session, 'lease')
if holder then redis.call('HDEL', waiting_runs, holder) end
redis.call('ZREM', running, session_token)
redis.call('ZREM', ready, session_token)
redis.call('HDEL', session, 'seq', 'updated', 'lease', 'until', 'asked', 'again')
return redis.call('ZCARD', waiting)
`,
  'frees',
);

/** Removes a session. UNLINK frees large values in the background. */
export const deleteSessionScript = defineScript(
  {
    keys: 'session events state sessions hiddenSessions answered pending waiting waitingRuns sessionEnds',
    args: 'id sessionToken',
  },
  `
redis.call('UNLINK', session, events, state, answered)
redis.call('ZREM', sessions, id)
redis.call('ZREM', hidden_sessions, id)
redis.call('ZREM', session_ends, id)
local own = session_token .. ':'
for _, field in ipairs(redis.call('HKEYS', pending)) do
  if string.sub(field, 1, #own) == own then redis.call('HDEL', pending, field) end
end
redis.call('PEXPIRE', waiting, ${tellMs})
redis.call('PEXPIRE', waiting_runs, ${tellMs})
return 1
`,
  'frees',
);

/**
 * KEYS index, then invocations that the log names. ARGV session token. An invocation of another session keeps
 * that session's fields.
 */
export const deleteInvocationsScript = script(
  `${keepEnds}
local own = 'event:' .. ARGV[1] .. ':'
for n = 2, #KEYS do
  if redis.call('HGET', KEYS[n], 'owner') == ARGV[1] then keep_ends(KEYS[1], KEYS[n])
  else
    redis.call('HDEL', KEYS[n], 'from:' .. ARGV[1])
    for _, field in ipairs(redis.call('HKEYS', KEYS[n])) do
      if string.sub(field, 1, #own) == own then redis.call('HDEL', KEYS[n], field) end
    end
  end
end
return 1
`,
  'frees',
);

/** KEYS index, then invocations. ARGV session token. Other sessions' invocations stay. */
export const deleteOwnScript = script(
  `${keepEnds}
for n = 2, #KEYS do
  if redis.call('HGET', KEYS[n], 'owner') == ARGV[1] then keep_ends(KEYS[1], KEYS[n]) end
end
return 1
`,
  'frees',
);

/**
 * KEYS index, then keys in its slot. ARGV further members of the index to remove. Returns how many keys there
 * were.
 */
export const deleteKeptScript = script(
  `
local count = 0
for n = 2, #KEYS do
  count = count + redis.call('UNLINK', KEYS[n])
  redis.call('ZREM', KEYS[1], 'key ' .. KEYS[n])
end
for _, member in ipairs(ARGV) do redis.call('ZREM', KEYS[1], member) end
return count
`,
  'frees',
);

/** Deletes the queue of a session that is gone, and its runs from the list of waiting runs of the user. */
export const forgetQueueScript = defineScript(
  { keys: 'waiting waitingRuns queued', args: 'sessionToken' },
  `
for _, run in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  redis.call('ZREM', queued, session_token .. ' ' .. run)
end
return redis.call('UNLINK', waiting, waiting_runs)
`,
  'frees',
);

/** Deletes what is kept of a user beside the sessions. Returns how many fields of state and of calls there were. */
export const deleteUserScript = defineScript(
  { keys: 'user pending running ready queued' },
  `
local counts = { #redis.call('HKEYS', user), #redis.call('HKEYS', pending) }
redis.call('UNLINK', user, pending, running, ready, queued)
return counts
`,
  'frees',
);

/**
 * KEYS app. ARGV the names of the user as the last writer of a value. The values belong to the app and stay.
 */
export const forgetWriterScript = script(
  `
local all = redis.call('HGETALL', KEYS[1])
for n = 1, #all, 2 do
  local id, writer, json = string.match(all[n + 1], '^(%S+) (%S+) (.*)$')
  for _, name in ipairs(ARGV) do
    if writer == name then redis.call('HSET', KEYS[1], all[n], id .. ' - ' .. json) end
  end
end
return 1
`,
  'frees',
);
