import { clock } from '../scripts/clock.ts';
import { defineScript } from '../scripts/define-script.ts';

// Sliding windows, each in fields of a hash: the uses of this window, and of the window before as far as it reaches
// into the last `window` ms.
const slidingWindow = `${clock}
local function read_window(key, name, window)
  local at = math.floor(now_ms() / window)
  local found = redis.call('HMGET', key, name .. 'at', name .. 'count', name .. 'before')
  local last = tonumber(found[1])
  if last == at then return at, tonumber(found[2]), tonumber(found[3]) end
  return at, 0, last == at - 1 and tonumber(found[2]) or 0
end
-- Returns 0, or the time in ms until one more use is possible.
local function wait_for(key, name, window, limit)
  local at, count, before = read_window(key, name, window)
  local rest = window - now_ms() % window
  if before * rest / window + count + 1 <= limit then return 0 end
  if count + 1 <= limit then return math.ceil(rest - (limit - 1 - count) * window / before) end
  return math.ceil(rest + math.max(0, window - (limit - 1) * window / count))
end
local function add_uses(key, name, window, uses)
  local at, count, before = read_window(key, name, window)
  redis.call('HSET', key, name .. 'at', at, name .. 'count', count + uses, name .. 'before', before)
  if redis.call('PTTL', key) < 2 * window then redis.call('PEXPIRE', key, 2 * window) end
end
`;

/**
 * Counts one use in a sliding window. Returns 0, or the time in ms until the next use is possible; a refused use does
 * not count.
 */
export const useScript = defineScript(
  { keys: 'counter', args: 'most windowMs' },
  `${slidingWindow}
local window = tonumber(window_ms)
local ms = wait_for(counter, '', window, tonumber(most))
if ms == 0 then add_uses(counter, '', window, 1) end
return ms
`,
);

/**
 * Admits a run. `quotas` holds for each quota the number of its key (1: caller, 2: user, 3: app), the beginning of its
 * fields, its window in ms, and the greatest number in a window. Counts the run at each quota of runs. `entry` describes an
 * open run whose tokens are counted later, or is ''; `tokens` are those that its invocation has used before. Returns
 * 0 and 0, or the time in ms until the run is possible, and the number of the quota that says so.
 */
export const admitRunScript = defineScript(
  {
    keys: 'open caller user app',
    args: 'invocation entry tokens',
    lists: 'quotas',
  },
  `${slidingWindow}
local counters = { caller, user, app }
local longest, by = 0, 0
for n = 1, #quotas, 4 do
  local ms = wait_for(counters[tonumber(quotas[n])], quotas[n + 1], tonumber(quotas[n + 2]), tonumber(quotas[n + 3]))
  if ms > longest then longest, by = ms, (n + 3) / 4 end
end
if longest > 0 then return { longest, by } end
for n = 1, #quotas, 4 do
  if string.sub(quotas[n + 1], 1, 5) == 'runs:' then
    add_uses(counters[tonumber(quotas[n])], quotas[n + 1], tonumber(quotas[n + 2]), 1)
  end
end
if entry ~= '' then
  -- The tokens of an earlier run of the invocation are counted up to here.
  local before = string.match(redis.call('HGET', open, invocation) or '0', '^%d+')
  redis.call('HSET', open, invocation, math.max(tonumber(before), tonumber(tokens)) .. ' ' .. entry)
end
return { 0, 0 }
`,
);

/**
 * Counts the tokens that an invocation has used and that were not counted before, in the windows `windows` (beginning of
 * the fields, length in ms) of all three counters. `entry` describes the open run; another entry is left as it is. `isOver` is 1 for a run that
 * uses no more.
 */
export const countTokensScript = defineScript(
  {
    keys: 'open caller user app',
    args: 'invocation entry tokens isOver',
    lists: 'windows',
  },
  `${slidingWindow}
local before, known = string.match(redis.call('HGET', open, invocation) or '', '^(%d+) (.*)$')
if known ~= entry then return end
local used = math.max(0, tonumber(tokens) - tonumber(before))
if used > 0 then
  for _, counter in ipairs({ caller, user, app }) do
    for n = 1, #windows, 2 do add_uses(counter, windows[n], tonumber(windows[n + 1]), used) end
  end
end
if is_over == '1' then
  redis.call('HDEL', open, invocation)
elseif used > 0 then
  redis.call('HSET', open, invocation, tokens .. ' ' .. entry)
end
`,
);

/** Takes a slot of a limited number, or renews it. Returns 1, or 0 when all slots are taken. */
export const takeSlotScript = defineScript(
  { keys: 'slots', args: 'holder most leaseMs' },
  `${clock}
redis.call('ZREMRANGEBYSCORE', slots, '-inf', now_ms())
if not redis.call('ZSCORE', slots, holder) and redis.call('ZCARD', slots) >= tonumber(most) then return 0 end
redis.call('ZADD', slots, now_ms() + lease_ms, holder)
redis.call('PEXPIRE', slots, lease_ms)
return 1
`,
);

/**
 * Notes a value for `ttlMs`, if nothing is noted, or in the place of the value `replaced`, which is '' for none. Returns
 * the value that is noted now.
 */
export const noteRequestScript = defineScript(
  { keys: 'note', args: 'value replaced ttlMs' },
  `
local known = redis.call('GET', note)
if known and known ~= replaced then return known end
redis.call('SET', note, value, 'PX', ttl_ms)
return value
`,
);
