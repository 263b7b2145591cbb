/**
 * The Lua of the floor: the least that Redis must do to begin an invocation, to commit an event and to end the
 * invocation, each behind a token that fences off others.
 */
export const begin = `
local session = redis.call('HMGET', KEYS[1], 'seq', 'lease', 'waits')
local invocation = redis.call('HMGET', KEYS[2], 'end', 'token')
if invocation[1] then return 'ended' end
local seq = (session[1] or 0) + 1
redis.call('HSET', KEYS[1], 'seq', seq, 'lease', ARGV[1])
redis.call('HSET', KEYS[2], 'token', (invocation[2] or 0) + 1, 'event:' .. ARGV[2], seq)
redis.call('XADD', KEYS[3], '0-' .. seq, 'e', ARGV[3])
redis.call('PEXPIRE', KEYS[2], 86400000)
return seq`;

export const commit = `
local session = redis.call('HMGET', KEYS[1], 'seq', 'lease')
local invocation = redis.call('HMGET', KEYS[2], 'end', 'token', 'event:' .. ARGV[1])
if invocation[1] or invocation[3] then return 'fenced' end
local seq = session[1] + 1
redis.call('HSET', KEYS[1], 'seq', seq, 'updated', ARGV[3])
redis.call('HSET', KEYS[2], 'event:' .. ARGV[1], seq)
redis.call('XADD', KEYS[3], '0-' .. seq, 'e', ARGV[2])
return seq`;

export const end = `
local session = redis.call('HMGET', KEYS[1], 'lease', 'waits')
redis.call('HSET', KEYS[2], 'end', ARGV[1])
redis.call('HDEL', KEYS[1], 'lease')
redis.call('PEXPIRE', KEYS[2], 3600000)
return session[2] or ''`;

export const head = `
return { redis.call('HMGET', KEYS[1], 'seq', 'lease'), redis.call('XREVRANGE', KEYS[2], '+', '0-1', 'COUNT', 20) }`;
