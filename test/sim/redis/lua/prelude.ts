import { luaJson } from './lua-json.ts';

/**
 * The Lua that stands between the scripts and JavaScript. A script is a coroutine: each `redis.call` yields the
 * command, and goes on with the reply. Values pass over the stack, because the build of Lua exports no function that
 * pushes numbers or tables, or that calls JavaScript:
 *
 * - `add(...)` collects values of a list that is too long for one call;
 * - `load(source)` runs a library, and returns the name of its function and its flags;
 * - `start(name, count)` calls a function with the collected values, the first `count` of which are keys;
 * - `resume(kind, ...)` goes on with a reply.
 *
 * `start` and `resume` return `ask`, the kind of request and its words; or `done`, the shape of the result and its
 * texts; or `failed` and the error.
 */
export const prelude = `
local unpack, select, type, pairs, tonumber, tostring = unpack, select, type, pairs, tonumber, tostring
local concat, gmatch, format = table.concat, string.gmatch, string.format
local resume, status, create, yield = coroutine.resume, coroutine.status, coroutine.create, coroutine.yield

-- An integer of C has 32 bits here, and 64 in Redis.
local function integer(value)
  if value ~= value or value >= 2 ^ 63 or value < -2 ^ 63 then return '-9223372036854775808' end
  return format('%.0f', (value < 0 and math.ceil(value) or math.floor(value)) + 0)
end
function string.format(pattern, ...)
  if not string.find(pattern, '%%[-+ #0%d.]*[di]') then return format(pattern, ...) end
  local args, at = { ... }, 0
  local changed = string.gsub(pattern, '%%([-+ #0]*)(%d*)([%d.]*)(.)', function(flags, width, rest, kind)
    if kind == '%' then return nil end
    at = at + 1
    if kind ~= 'd' and kind ~= 'i' then return nil end
    local value = tonumber(args[at])
    if not value then error("bad argument #" .. (at + 1) .. " to 'format' (number expected)", 3) end
    args[at] = integer(value)
    if string.find(flags, '0', 1, true) or rest ~= '' then error('this format of an integer is not supported', 3) end
    return '%' .. flags .. width .. 's'
  end)
  return format(changed, unpack(args, 1, select('#', ...)))
end

local pending, count = {}, 0
local function collect(...)
  local items, size = { ... }, select('#', ...)
  for at = 1, size do
    local item = items[at]
    if item == nil then item = false end
    pending[count + at] = item
  end
  count = count + size
end
local function collected()
  local list = pending
  pending, count = {}, 0
  return list
end

-- Builds a reply of lists within lists from its shape, and from the collected texts.
local function build(shape)
  local texts, at = collected(), 0
  local tokens = gmatch(shape, '([^%d])(-?[%d.e+-]*);')
  local function value()
    local kind, number = tokens()
    if kind == '$' then at = at + 1 return texts[at] end
    if kind == ':' then return tonumber(number) end
    if kind == '+' then at = at + 1 return { ok = texts[at] } end
    if kind == '*' then
      local list = {}
      for n = 1, tonumber(number) do list[n] = value() end
      return list
    end
    if kind == '%' then
      local map = {}
      for _ = 1, tonumber(number) do
        local key = value()
        map[key] = value()
      end
      return map
    end
    if kind == 't' then return true end
    if kind == 'z' then return cjson.null end
    return false
  end
  return value()
end

local function receive(is_caught, kind, ...)
  if kind == 's' then return (...) end
  if kind == 'i' then return tonumber((...)) end
  if kind == 'n' then return false end
  if kind == 'l' then
    collect(...)
    return collected()
  end
  if kind == 't' then return build((...)) end
  local failure = { err = (...) }
  if is_caught then return failure end
  error(failure, 0)
end
local function words(...)
  local size, list = select('#', ...), { ... }
  for at = 1, size do
    local kind = type(list[at])
    if kind == 'number' then list[at] = format('%.17g', list[at])
    elseif kind ~= 'string' then error({ err = 'ERR Lua redis lib command arguments must be strings or integers' }, 0) end
  end
  return unpack(list, 1, size)
end

local flags_of, callbacks, loading = {}, {}, nil
redis = {}
function redis.call(...) return receive(false, yield('call', words(...))) end
function redis.pcall(...) return receive(true, yield('call', words(...))) end
function redis.sha1hex(text) return receive(false, yield('sha1', tostring(text))) end
function redis.error_reply(text) return { err = string.find(text, '^-') and string.sub(text, 2) or 'ERR ' .. text } end
function redis.status_reply(text) return { ok = text } end
function redis.log() end
function redis.register_function(name, callback)
  local flags = {}
  if type(name) == 'table' then name, callback, flags = name.function_name, name.callback, name.flags or {} end
  callbacks[name], loading, flags_of[name] = callback, name, concat(flags, ' ')
end
redis.REDIS_VERSION, redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING = '7.4.0', 0, 1, 2, 3
${luaJson}
local sandbox = {
  redis = redis, cjson = cjson, string = string, table = table, math = math,
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  pcall = pcall, rawequal = rawequal, rawget = rawget, rawset = rawset, select = select, setmetatable = setmetatable,
  tonumber = tonumber, tostring = tostring, type = type, unpack = unpack, xpcall = xpcall, _VERSION = _VERSION,
}
setmetatable(sandbox, {
  __index = function(_, name) error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
})
local function load(source)
  local library, problem = loadstring(source, '@user_function')
  if not library then return 'failed', problem end
  setfenv(library, sandbox)
  loading = nil
  local is_loaded, failure = pcall(library)
  if not is_loaded then return 'failed', tostring(type(failure) == 'table' and failure.err or failure) end
  return 'done', loading or '', loading and flags_of[loading] or ''
end

-- Writes the shape of a result, and the texts in it. A list ends before its first nil, as in Redis.
local function describe(value, shape, texts)
  local kind = type(value)
  if kind == 'string' then
    shape[#shape + 1] = '$' .. #value .. ';'
    texts[#texts + 1] = value
  elseif kind == 'number' then shape[#shape + 1] = ':' .. integer(value) .. ';'
  elseif kind == 'boolean' and value then shape[#shape + 1] = ':1;'
  elseif kind ~= 'table' then shape[#shape + 1] = '_;'
  elseif type(value.err) == 'string' then
    shape[#shape + 1] = '!' .. #value.err .. ';'
    texts[#texts + 1] = value.err
  elseif type(value.ok) == 'string' then
    shape[#shape + 1] = '+' .. #value.ok .. ';'
    texts[#texts + 1] = value.ok
  else
    local place, size = #shape + 1, 0
    shape[place] = ''
    while value[size + 1] ~= nil do
      size = size + 1
      describe(value[size], shape, texts)
    end
    shape[place] = '*' .. size .. ';'
  end
end

local running
local function after(is_well, ...)
  if status(running) == 'suspended' then return 'ask', ... end
  local result = (...)
  if not is_well then return 'failed', tostring(type(result) == 'table' and result.err or result) end
  local shape, texts = {}, {}
  describe(result, shape, texts)
  return 'done', concat(shape), concat(texts)
end
local function start(name, keys_count)
  local all, keys, args = collected(), {}, {}
  keys_count = tonumber(keys_count)
  for at = 1, #all do
    if at <= keys_count then keys[at] = all[at] else args[at - keys_count] = all[at] end
  end
  running = create(callbacks[name])
  return after(resume(running, keys, args))
end
return collect, load, start, function(...) return after(resume(running, ...)) end
`;
