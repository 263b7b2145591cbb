/**
 * The named sets of faults:
 * - `none`: no fault; the traffic alone
 * - `kills`: SIGKILL at any time or at a kill point, SIGTERM, two processes at once, short restarts of servers
 * - `pauses`: SIGSTOP of processes and servers
 * - `outages`: servers that are away for seconds
 * - `network`: connections of one process that are cut, refused, half open or slow, and partitions
 * - `full`: a Redis without memory, a NATS without space
 *
 * No mix moves a clock. Redis takes its time from the machine, and the clock of the machine belongs to all its
 * programs. A pause has the same effect as a jump forwards on the timers of one process; a jump backwards is not
 * covered.
 */
export const mixes = ['none', 'kills', 'pauses', 'outages', 'network', 'full'] as const;
export type Mix = (typeof mixes)[number];

/** Reads a list of mixes with commas between them; `all` for all of them. */
export function readMixes(text: string): Mix[] {
  if (text === 'all') return mixes.filter((mix) => mix !== 'none');
  return text.split(',').map((name) => {
    const mix = mixes.find((each) => each === name);
    if (!mix) throw new Error(`there is no mix "${name}"; use all, or some of: ${mixes.join(', ')}`);
    return mix;
  });
}
