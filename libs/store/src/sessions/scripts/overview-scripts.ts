import { defineScript } from '../../scripts/define-script.ts';
import { noteMember } from './busy-scripts.ts';

/**
 * Notes the session or the user that a run makes busy, as {@link noteScript} does, and returns the mark. Notes the
 * run itself at a time, unless it has the id '', and drops the oldest runs. A run that is noted already keeps its
 * time, unless `refresh` is 1. The first place of a run counts.
 */
export const noteRunScript = defineScript(
  {
    keys: 'list runs places',
    args: 'member now step id time place refresh most keptMs',
  },
  `${noteMember}
local mark = note_member(list, member, now, step)
if id == '' then return mark end
local added = refresh == '1' and redis.call('ZADD', runs, time, id) or redis.call('ZADD', runs, 'NX', time, id)
redis.call('HSETNX', places, id, place)
if added == 1 then
  for _, old in ipairs(redis.call('ZRANGE', runs, 0, -most - 1)) do
    redis.call('ZREM', runs, old)
    redis.call('HDEL', places, old)
  end
end
redis.call('PEXPIRE', runs, kept_ms)
redis.call('PEXPIRE', places, kept_ms)
return mark
`,
);

/** Forgets the runs whose places begin with a text: those of a session, or of a user. */
export const forgetRunsScript = defineScript(
  { keys: 'runs places', args: 'prefix' },
  `
local fields, count = redis.call('HGETALL', places), 0
for at = 1, #fields, 2 do
  if string.sub(fields[at + 1], 1, #prefix) == prefix then
    redis.call('ZREM', runs, fields[at])
    redis.call('HDEL', places, fields[at])
    count = count + 1
  end
end
return count
`,
  'frees',
);
