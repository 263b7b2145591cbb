/**
 * A Lua function that writes the fields of a hash, each name before its value. It writes them one by one:
 * Lua's unpack() takes some 8,000 values, and a delta may have more.
 */
export const writeFields = `
local function write_fields(key, prefix, fields)
  for n = 1, #fields, 2 do redis.call('HSET', key, prefix .. fields[n], fields[n + 1]) end
end
`;

/**
 * A Lua function that adds changes of `app:` state to the outbox of a user. The id of an entry is the commit's
 * time in microseconds, which orders the commits of all users. The clock may step back, for example when a
 * replica is promoted. Then the commits of one session continue from its last id, and '*' continues from the
 * stream's last id, as ids must grow.
 */
export const writeOutbox = `
local function write_outbox(key, session, fields)
  for first = 1, #fields, 4000 do
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local before = tonumber(string.match(redis.call('HGET', session, 'outbox') or '', '^%d+'))
    if before and now <= before then now = before + 1 end
    local last = math.min(first + 3999, #fields)
    local id = redis.pcall('XADD', key, string.format('%.0f', now) .. '-' .. first, unpack(fields, first, last))
    if type(id) == 'table' then id = redis.call('XADD', key, '*', unpack(fields, first, last)) end
    redis.call('HSET', session, 'outbox', id)
  end
end
`;
