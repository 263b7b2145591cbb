import { clock } from './clock.ts';

// Notes a key that expires by itself in an index: until then the deletion of the user's data finds it there.
export const noteKey = `${clock}
local function note_kept(index, name, ttl)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', string.format('%d', now_ms()))
  redis.call('ZADD', index, string.format('%d', now_ms() + ttl), name)
  if redis.call('PTTL', index) < tonumber(ttl) then redis.call('PEXPIRE', index, ttl) end
end
local function note_key(index, key, ttl) note_kept(index, 'key ' .. key, ttl) end
`;
