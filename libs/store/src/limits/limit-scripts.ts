import { clock } from '../scripts/clock.ts';
import { defineScript } from '../scripts/define-script.ts';

/**
 * Counts one use in a sliding window: the uses of this window, and of the window before as far as it reaches
 * into the last `windowMs`. Returns 0, or the time in ms until the next use is possible; a refused use does not
 * count.
 */
export const useScript = defineScript(
  { keys: ['counter'], args: ['most', 'windowMs'] },
  `${clock}
local window, limit = tonumber(window_ms), tonumber(most)
local at = math.floor(now_ms() / window)
local rest = window - now_ms() % window
local found = redis.call('HMGET', counter, 'at', 'count', 'before')
local last, count, before = tonumber(found[1]), 0, 0
if last == at then
  count, before = tonumber(found[2]), tonumber(found[3])
elseif last == at - 1 then
  before = tonumber(found[2])
end
if before * rest / window + count + 1 <= limit then
  redis.call('HSET', counter, 'at', at, 'count', count + 1, 'before', before)
  redis.call('PEXPIRE', counter, 2 * window)
  return 0
end
if count + 1 <= limit then return math.ceil(rest - (limit - 1 - count) * window / before) end
return math.ceil(rest + math.max(0, window - (limit - 1) * window / count))
`,
);

/** Takes a slot of a limited number, or renews it. Returns 1, or 0 when all slots are taken. */
export const takeSlotScript = defineScript(
  { keys: ['slots'], args: ['holder', 'most', 'leaseMs'] },
  `${clock}
redis.call('ZREMRANGEBYSCORE', slots, '-inf', now_ms())
if not redis.call('ZSCORE', slots, holder) and redis.call('ZCARD', slots) >= tonumber(most) then return 0 end
redis.call('ZADD', slots, now_ms() + lease_ms, holder)
redis.call('PEXPIRE', slots, lease_ms)
return 1
`,
);
