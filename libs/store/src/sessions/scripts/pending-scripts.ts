import { clock } from '../../scripts/clock.ts';
import { noteKey } from '../../scripts/expiring-key.ts';
import { script } from '../../scripts/script.ts';
import { holderOf } from './lease-scripts.ts';

/**
 * Time for which an accepted answer stands whose run has left no trace, in ms: the run's record may have
 * expired, or the run may still be in its queue.
 */
const tracelessMs = 600_000;

// The answer of a call is kept in fields that end with the call's id. a: who answered ('user', 'agent', or
// 'claim' for an answer that was accepted for a run), and a fingerprint. For an accepted answer also k: its
// key, t: its time, r: the key of the invocation whose run takes it in, f: the field there that says that the
// run has ended.
const readClaim = `
local function read_claim(key, id)
  local found = redis.call('HMGET', key, 'a:' .. id, 'k:' .. id, 't:' .. id, 'r:' .. id, 'f:' .. id)
  if not found[1] then return nil end
  local by, digest = string.match(found[1], '^(%S+) (%S+)')
  return { by = by, digest = digest, key = found[2], time = found[3], run = found[4], field = found[5] }
end
local function drop_claim(key, id)
  redis.call('HDEL', key, 'a:' .. id, 'k:' .. id, 't:' .. id, 'r:' .. id, 'f:' .. id)
end
`;

/** KEYS index. ARGV the member for the call, ttl in ms. */
export const noteCallScript = script(`${noteKey}
note_kept(KEYS[1], ARGV[1], ARGV[2])
return 1
`);

/** KEYS asking. ARGV session, ttl in ms. */
export const noteAskingScript = script(`
redis.call('SADD', KEYS[1], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);

/**
 * KEYS pending, answered, session, and the invocation that the accepted answer names, if there is one. ARGV
 * field, call id, key of the answer, digest, key of the invocation whose run takes the answer in or '', its
 * field, then for each caller its run's name and the prefix of the names of runs that continue it. Returns
 * the state, and who answered; or 'changed' when the accepted answer is not the answer for which the keys
 * were made: a script may touch declared keys only.
 */
export const acceptScript = script(`${clock}${holderOf}${readClaim}
local id, is_open, claim = ARGV[2], redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1, read_claim(KEYS[2], ARGV[2])
if claim and claim.run and claim.run ~= KEYS[4] then return { 'changed' } end
if claim then
  local is_void = false
  if claim.by == 'claim' then
    if claim.key == ARGV[3] then return { 'repeated' } end
    if is_open and claim.run then
      if redis.call('EXISTS', KEYS[4]) == 0 then is_void = now_ms() - tonumber(claim.time) > ${tracelessMs}
      else is_void = redis.call('HEXISTS', KEYS[4], claim.field) == 1 end
    end
  end
  if not is_void then
    if claim.digest == ARGV[4] then return { 'duplicate' } end
    return { 'answered', claim.by == 'agent' and 'agent' or 'user' }
  end
elseif not is_open then
  return { 'unknown' }
end
local holder = holder_of(KEYS[3])
for n = 7, #ARGV, 2 do
  if holder and (holder == ARGV[n] or string.sub(holder, 1, #ARGV[n + 1]) == ARGV[n + 1]) then return { 'busy' } end
end
drop_claim(KEYS[2], id)
redis.call('HSET', KEYS[2], 'a:' .. id, 'claim ' .. ARGV[4], 'k:' .. id, ARGV[3], 't:' .. id, now_ms())
if ARGV[5] ~= '' then redis.call('HSET', KEYS[2], 'r:' .. id, ARGV[5], 'f:' .. id, ARGV[6]) end
return { 'accepted' }
`);

/** KEYS pending, answered. ARGV field, call id, key of the accepted answer. */
export const releaseClaimScript = script(
  `${readClaim}
local claim = read_claim(KEYS[2], ARGV[2])
if not claim or claim.key ~= ARGV[3] or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
drop_claim(KEYS[2], ARGV[2])
return 1
`,
  'frees',
);

/** KEYS pending, answered. ARGV field, call id. */
export const callStateScript = script(
  `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 'open' end
return redis.call('HEXISTS', KEYS[2], 'a:' .. ARGV[2]) == 1 and 'answered' or 'unknown'
`,
  'reads',
);

/**
 * KEYS pending, answered. ARGV field, call id, number. Returns 1 when the call is open and has no newer
 * progress.
 */
export const progressScript = script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local known = redis.call('HGET', KEYS[2], 'p:' .. ARGV[2])
if known and tonumber(known) > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], 'p:' .. ARGV[2], ARGV[3])
return 1
`);

/** KEYS pending. ARGV fields of calls whose sessions are gone. */
export const forgetPendingScript = script(
  `
for _, field in ipairs(ARGV) do redis.call('HDEL', KEYS[1], field) end
return 1
`,
  'frees',
);
