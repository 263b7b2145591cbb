// Notes a key that expires by itself in an index: until then the deletion of the user's data finds it there.
export const noteKey = `
local function note_kept(index, name, ttl)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', string.format('%d', now))
  redis.call('ZADD', index, string.format('%d', now + ttl), name)
  if redis.call('PTTL', index) < tonumber(ttl) then redis.call('PEXPIRE', index, ttl) end
end
local function note_key(index, key, ttl) note_kept(index, 'key ' .. key, ttl) end
`;
