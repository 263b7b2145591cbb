import { defineScript } from '../../scripts/define-script.ts';
import { leaveSession, queueKeys, readInvocation, touchInvocation } from './invocation-scripts.ts';
import { giveTo } from './lease-scripts.ts';
import { hasRoom, noteQueued, noteRunning } from './user-runs.ts';

/**
 * Takes a session. `run` is the run's name; `resume` is the same for a run that continues an invocation, or
 * ''; `message` is published when the run is the next in the session's queue; `part` and `delivery` name the
 * part of the invocation and the message of this delivery, each or ''; `place`, `earlier` and `incarnation`
 * are those of the options, each or ''; `rejection` is the end of a run that is rejected, as JSON, or ''. `most` is the number of runs of the user
 * that may be at work and `mostQueued` of those that may wait, each '' without limits; `refusal` is the end of
 * a run beyond the latter, as JSON; `onlyWaits` is 1 for a run that must not begin now, `onlyNew` for one that takes nothing over; `waitingMs` is the
 * time for which a queue is kept; `agent` is the agent whose service takes the session, or ''. The nonce distinguishes a repetition of the same call from another
 * taker: a repetition must not fence off its own caller. Returns the state, then the values that belong to
 * it.
 */
export const takeScript = defineScript(
  {
    keys: `invocation ${queueKeys} index`,
    args: `
      sessionToken runningMs endedMs nonce run leaseMs whenBusy message resume part delivery place
      earlier incarnation rejection most mostQueued refusal onlyWaits onlyNew waitingMs agent`,
  },
  `${touchInvocation}${readInvocation}${giveTo}${leaveSession}${hasRoom}${noteRunning}${noteQueued}
local attempts = 'part:' .. part
local home, taken, taker, owner, own_place, ended, had_part, had_delivery, current, token, begun, attempt = unpack(
  redis.call('HMGET', invocation, 'home', 'taken', 'taker', 'owner', 'place:' .. run, end_field(resume),
    'part', 'message', 'run', 'token', 'begun', attempts))
if home and home ~= session_token then return { resume == '' and 'elsewhere' or 'gone' } end
if only_new == '1' and taken and taker ~= nonce then return { 'begun' } end
if ended then
  leave_session(run)
  return { 'ended' }
end
local seq, nonce_now, holder, lease_end = unpack(redis.call('HMGET', session, 'seq', 'nonce', 'lease', 'until'))
if not seq or incarnation ~= '' and incarnation ~= nonce_now then return { 'gone' } end
if resume ~= '' and owner and owner ~= session_token then return { 'gone' } end
local is_begun = taken == run
local mine = tonumber(own_place or place)
local first, first_score = unpack(redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES'))
local function score() return when_busy == 'interrupt' and -mine or mine end
local function must_wait()
  if holder and holder ~= run then return true end
  if holder and (is_begun or not mine) then return false end
  if earlier ~= '' and mine and tonumber(earlier) < score() then return true end
  return first and first ~= run and (not mine or tonumber(first_score) < score())
end
local is_busy = must_wait()
-- A run that continues an invocation, or has begun, does not wait for a share.
local is_limited = most ~= '' and resume == '' and not is_begun and not holder
local is_full = is_limited and not has_room(most)
local has_waited = own_place and true or false
-- A new run takes no room from those that wait. A run that was published from its queue has its turn.
local function is_behind()
  if has_waited then return false end
  local next_ready = redis.call('ZRANGE', ready, 0, 0, 'WITHSCORES')
  return next_ready[1] and next_ready[1] ~= session_token and mine and tonumber(next_ready[2]) < score()
end
if is_busy or is_full or is_limited and is_behind() then
  local is_rejected = is_busy and when_busy == 'reject'
  if not is_rejected then
    if not mine then
      local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2]
      mine = math.max(tonumber(last or 0), 0) + 1
    end
    local limit = (has_waited or resume ~= '' or refusal == '') and '' or most_queued
    if not note_queued(run, limit, waiting_ms) then
      redis.call('HSETNX', invocation, end_field(resume), refusal)
      leave_session(run)
      redis.call('HSET', invocation, 'home', session_token)
      touch_invocation(invocation, index, session_token, running_ms, ended_ms)
      return { 'refused' }
    end
    redis.call('HSETNX', invocation, 'place:' .. run, mine)
    redis.call('ZADD', waiting, 'NX', score(), run)
    redis.call('HSET', waiting_runs, run, message)
    redis.call('HDEL', invocation, 'part', 'message')
    redis.call('HSET', invocation, 'home', session_token)
    if holder == run then
      redis.call('HDEL', session, 'lease', 'until')
      redis.call('ZREM', running, session_token)
    end
    redis.call('PEXPIRE', waiting, waiting_ms)
    redis.call('PEXPIRE', waiting_runs, waiting_ms)
    note_ready()
    touch_invocation(invocation, index, session_token, waiting_ms, ended_ms)
  elseif rejection ~= '' then
    redis.call('HSETNX', invocation, end_field(resume), rejection)
    leave_session(run)
    redis.call('HSET', invocation, 'home', session_token)
    touch_invocation(invocation, index, session_token, running_ms, ended_ms)
  end
  return { 'busy', holder ~= run and holder or '', is_full and 1 or 0, is_rejected and 1 or 0 }
end
if only_waits == '1' then return { 'free' } end
local facts = { 'home', session_token }
local function set(field, value)
  facts[#facts + 1] = field
  facts[#facts + 1] = value
end
if agent ~= '' then set('agent', agent) end
if delivery ~= '' then
  local is_alive = holder and tonumber(lease_end) > now_ms()
  if is_alive and had_part == part and had_delivery ~= delivery then return { 'duplicate' } end
  set('part', part)
  set('message', delivery)
end
give_to(session, run, lease_ms)
note_running(lease_ms, most ~= '')
if first then
  redis.call('ZREM', waiting, run)
  redis.call('ZREM', queued, session_token .. ' ' .. run)
  redis.call('ZREM', ready, session_token)
end
if message == '' then redis.call('HDEL', waiting_runs, run)
else
  redis.call('HSET', waiting_runs, run, message)
  redis.call('PEXPIRE', waiting_runs, waiting_ms)
end
current = current or ''
if current ~= resume then
  if is_over(invocation) then redis.call('HDEL', invocation, 'cancel') end
  redis.call('HDEL', invocation, 'begun', 'run')
  begun = nil
  set('before', current)
  if resume ~= '' then set('run', resume) end
end
token, begun, attempt = tonumber(token or 0), tonumber(begun or 0), tonumber(attempt or 0)
if taker ~= nonce then
  token, begun, attempt = token + 1, begun + 1, attempt + 1
  set('token', token)
  set('begun', begun)
  set('taker', nonce)
  set('taken', run)
  if part ~= '' then set(attempts, attempt) end
end
redis.call('HSET', invocation, unpack(facts))
touch_invocation(invocation, index, session_token, running_ms, ended_ms, false)
return { 'held', token, begun, tonumber(seq), nonce_now, part == '' and 1 or attempt, read_invocation(invocation) }
`,
);
