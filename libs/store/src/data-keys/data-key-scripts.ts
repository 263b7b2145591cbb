import { script } from '../scripts/script.ts';

/** KEYS data key. ARGV its form, the form that takes its place. */
export const replaceDataKeyScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`);
