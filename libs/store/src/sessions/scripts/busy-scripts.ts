import { defineScript } from '../../scripts/define-script.ts';

// Notes a member of a list, whose score is the time of its last check. Each note adds a fraction of a millisecond
// to the score, so that no two have the same mark. Returns the mark.
export const noteMember = `
local function note_member(list, member, now, step)
  local score = redis.call('ZSCORE', list, member) or now
  local mark = string.format('%.3f', score + step)
  redis.call('ZADD', list, mark, member)
  return mark
end
`;

/** Notes a member of a list. Returns its mark. */
export const noteScript = defineScript(
  { keys: 'list', args: 'member now step' },
  `${noteMember}
return note_member(list, member, now, step)
`,
);

/** Removes a member of a list that nobody has noted or checked after this mark. */
export const dropScript = defineScript(
  { keys: 'list', args: 'member mark' },
  `
if tonumber(redis.call('ZSCORE', list, member) or 0) ~= tonumber(mark) then return 0 end
return redis.call('ZREM', list, member)
`,
  'frees',
);
