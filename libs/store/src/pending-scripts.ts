import { clock, holderOf } from './lease-scripts.ts';
import { script } from './scripts.ts';

/**
 * KEYS pending, answered, session. ARGV field, call id, key of the claim, digest, where the end of the run that takes the answer in will stand ('<key> <field>' or '- -'),
 * invocation that began the work or ''.
 * An answer is 'user <digest>' or 'agent <digest>', a claim 'claim <digest> <key and field of that end> <key of the claim>'. All in one slot, the invocation's key too.
 * Returns the state, and who answered.
 */
export const acceptScript = script(`${clock}${holderOf}
local open, known = redis.call('HGET', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], 'a:' .. ARGV[2])
if known then
  local by, digest, rest = string.match(known, '^(%S+) (%S+) ?(.*)$')
  local is_void = false
  if by == 'claim' then
    local invocation, field, key = string.match(rest, '^(%S+) (%S+) (.*)$')
    if key == ARGV[3] then return { 'repeated' } end
    is_void = open and invocation ~= '-' and redis.call('HEXISTS', invocation, field) == 1
  end
  if not is_void then
    if digest == ARGV[4] then return { 'duplicate' } end
    return { 'answered', by == 'agent' and 'agent' or 'user' }
  end
elseif not open then
  return { 'unknown' }
end
local holder = holder_of(KEYS[3])
if holder then
  local invocation = string.sub(holder, 1, 2) == '["' and cjson.decode(holder)[1] or holder
  if invocation == ARGV[6] or invocation == cjson.decode(open).invocationId then return { 'busy' } end
end
redis.call('HSET', KEYS[2], 'a:' .. ARGV[2], table.concat({ 'claim', ARGV[4], ARGV[5], ARGV[3] }, ' '))
return { 'accepted' }
`);

/** KEYS pending, answered. ARGV field, call id. */
export const callStateScript = script(`
if redis.call('HEXISTS', KEYS[2], 'a:' .. ARGV[2]) == 1 then return 'answered' end
return redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 and 'open' or 'unknown'
`);

/** KEYS pending, answered. ARGV field, call id, number. Returns 1 when nothing newer is known, of a call that is open. */
export const progressScript = script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local known = redis.call('HGET', KEYS[2], 'p:' .. ARGV[2])
if known and tonumber(known) > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], 'p:' .. ARGV[2], ARGV[3])
return 1
`);
