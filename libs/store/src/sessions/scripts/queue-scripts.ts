import { clock } from '../../scripts/clock.ts';
import { defineScript } from '../../scripts/define-script.ts';
import { queueKeys } from './invocation-scripts.ts';
import { giveTo } from './lease-scripts.ts';
import { hasRoom, noteReady, noteRunning } from './user-runs.ts';

/**
 * Returns whether a run has the session or waits for it, the text of the run of this session that may begin
 * now, or '', and another session of the user whose run comes before it, or ''. The runs of a session that is
 * gone come at once, so that each can end.
 */
export const nextRunScript = defineScript(
  {
    keys: 'session waiting waitingRuns running ready',
    args: 'sessionToken most',
  },
  `${clock}${hasRoom}
local seq, holder = unpack(redis.call('HMGET', session, 'seq', 'lease'))
local first, score = unpack(redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES'))
local is_busy = (holder or first) and 1 or 0
local text = first and not holder and redis.call('HGET', waiting_runs, first) or ''
if not seq then return { is_busy, text, '' } end
if not has_room(most) then return { is_busy, '', '' } end
local other, other_score = unpack(redis.call('ZRANGE', ready, 0, 0, 'WITHSCORES'))
if other and other ~= session_token and (text == '' or tonumber(other_score) < tonumber(score)) then
  return { is_busy, '', other }
end
return { is_busy, text, '' }
`,
  'reads',
);

/**
 * Returns the number of sessions of the user that are ready, and the one at position `skip` if a run of the
 * user may begin now, or ''.
 */
export const nextReadyScript = defineScript(
  { keys: 'running ready', args: 'most skip' },
  `${clock}${hasRoom}
local count = redis.call('ZCARD', ready)
if count == 0 or not has_room(most) then return { count, '' } end
return { count, redis.call('ZRANGE', ready, skip, skip)[1] or '' }
`,
  'reads',
);

/** Returns the text of the first run of a session that is ready. Takes any other session off the list. */
export const readReadyScript = defineScript(
  { keys: 'session waiting waitingRuns ready', args: 'sessionToken' },
  `${noteReady}
note_ready()
if not redis.call('ZSCORE', ready, session_token) then return '' end
local text = redis.call('HGET', waiting_runs, redis.call('ZRANGE', waiting, 0, 0)[1])
if not text then redis.call('ZREM', ready, session_token) end
return text or ''
`,
  'frees',
);

/**
 * Gives the session to the first run of the queue, by its name. The run's text stays for a later repeat.
 * `digest` is the SHA-1 of the text that was published, or '': a run that was put back meanwhile is published
 * anew. Returns whether another run of the user may begin.
 */
export const promoteScript = defineScript(
  { keys: queueKeys, args: 'sessionToken run leaseMs digest most' },
  `${clock}${giveTo}${hasRoom}${noteRunning}${noteReady}
local seq, holder = unpack(redis.call('HMGET', session, 'seq', 'lease'))
local text = redis.call('HGET', waiting_runs, run)
local is_next = seq and not holder and text and redis.call('ZRANGE', waiting, 0, 0)[1] == run
if is_next and (digest == '' or redis.sha1hex(text) == digest) and has_room(most) then
  give_to(session, run, lease_ms)
  note_running(lease_ms, true)
  redis.call('ZREM', waiting, run)
  redis.call('ZREM', queued, session_token .. ' ' .. run)
end
note_ready()
return has_room(most) and redis.call('ZCARD', ready) > 0 and 1 or 0
`,
);
