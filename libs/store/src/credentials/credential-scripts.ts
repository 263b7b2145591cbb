import { noteKey } from '../scripts/expiring-key.ts';
import { script } from '../scripts/script.ts';

/** KEYS sign-in, index. ARGV sealed sign-in, ttl, '1' for the sign-in of a calling agent. Keeps the first sign-in and returns the kept sign-in. */
export const openSignInScript = script(`${noteKey}
if redis.call('HSETNX', KEYS[1], 'sign-in', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'status', 'asked')
  if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'callers', '1') end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  note_key(KEYS[2], KEYS[1], ARGV[2])
end
return redis.call('HGET', KEYS[1], 'sign-in')
`);

/**
 * KEYS credential, credentials. ARGV the sealed credential, last part of the key, its description, end in ms
 * or ''.
 */
export const saveCredentialScript = script(`
if ARGV[4] == '' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[4]) end
return redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
`);

/** KEYS sign-in. ARGV sealed answer, now. Returns 1 if the answer is kept. */
export const answerSignInScript = script(`
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'asked' and status ~= 'answered' then return 0 end
redis.call('HSET', KEYS[1], 'status', 'answered', 'answer', ARGV[1], 'answered', ARGV[2])
return 1
`);

/**
 * KEYS sign-in. ARGV from, to, nonce. The nonce distinguishes a repetition of the same call from another
 * caller that was faster.
 */
export const moveSignInScript = script(`
if redis.call('HGET', KEYS[1], 'status') ~= ARGV[1] then
  return redis.call('HGET', KEYS[1], 'moved') == ARGV[3] and 1 or 0
end
redis.call('HSET', KEYS[1], 'status', ARGV[2], 'moved', ARGV[3])
if ARGV[2] == 'closed' then redis.call('HDEL', KEYS[1], 'answer') end
return 1
`);

/** KEYS turn. ARGV holder, ttl. */
export const takeTurnScript = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** KEYS turn. ARGV holder. */
export const endTurnScript = script(
  `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`,
  'frees',
);
