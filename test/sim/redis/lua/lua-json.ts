/**
 * The module `cjson` of Redis. Decoding is done in JavaScript, which returns the shape of the value; encoding is done
 * here, because its order of fields is the order of the table.
 */
export const luaJson = String.raw`
cjson = { null = newproxy() }
function cjson.decode(text) return receive(false, yield('json', tostring(text))) end

local escapes = { ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t' }
local function escaped(text)
  return '"' .. string.gsub(text, '[%z\1-\31"\\/\127]', function(letter)
    return escapes[letter] or format('\\u%04x', string.byte(letter))
  end) .. '"'
end
-- Returns the length of a list; nil for a table with other keys.
local function length_of(value)
  local longest, items = 0, 0
  for key in pairs(value) do
    if type(key) ~= 'number' or key < 1 or key ~= math.floor(key) then return nil end
    longest, items = math.max(longest, key), items + 1
  end
  if longest > items * 2 and longest > 10 then error('Cannot serialise table: excessively sparse array', 0) end
  return longest > 0 and longest or nil
end
local function write(value, out, depth)
  local kind = type(value)
  if kind == 'string' then out[#out + 1] = escaped(value)
  elseif kind == 'number' then
    if value ~= value or value == math.huge or value == -math.huge then
      error('Cannot serialise number: must not be NaN or Inf', 0)
    end
    out[#out + 1] = format('%.14g', value)
  elseif kind == 'boolean' then out[#out + 1] = tostring(value)
  elseif value == nil or value == cjson.null then out[#out + 1] = 'null'
  elseif kind ~= 'table' then error('Cannot serialise ' .. kind .. ': type not supported', 0)
  elseif depth > 1000 then error('Cannot serialise, excessive depth (1001)', 0)
  else
    local length = length_of(value)
    if length then
      for at = 1, length do
        out[#out + 1] = at == 1 and '[' or ','
        write(value[at], out, depth + 1)
      end
      out[#out + 1] = ']'
    else
      local before = '{'
      for key, item in pairs(value) do
        local name = type(key) == 'number' and format('%.14g', key) or key
        if type(name) ~= 'string' then error('Cannot serialise table: table key must be a number or string', 0) end
        out[#out + 1] = before .. escaped(name) .. ':'
        write(item, out, depth + 1)
        before = ','
      end
      out[#out + 1] = before == '{' and '{}' or '}'
    end
  end
end
function cjson.encode(value)
  local out = {}
  write(value, out, 1)
  return concat(out)
end
`;
