/**
 * The named sets of faults:
 * - `none`: no fault; the traffic alone
 * - `kills`: SIGKILL at any time or at a kill point, SIGTERM, two processes at once, short restarts of servers
 * - `pauses`: SIGSTOP of processes and servers
 * - `outages`: servers that are away for seconds
 * - `network`: connections of one process that are cut, refused, half open or slow, and partitions
 * - `full`: a Redis without memory, a NATS without space
 * - `clock`: the wall clock of Redis jumps forwards and backwards. It is not part of `all`, because it needs a C
 *   compiler
 *
 * Timers of the services do not use the wall clock, apart from deadlines. A pause has the same effect on them as
 * a jump forwards.
 */
export const mixes = ['none', 'kills', 'pauses', 'outages', 'network', 'full', 'clock'] as const;
export type Mix = (typeof mixes)[number];

/** Reads a list of mixes with commas between them; `all` for all of them but `none` and `clock`. */
export function readMixes(text: string): Mix[] {
  return text.split(',').flatMap((name) => {
    if (name === 'all') return mixes.filter((each) => each !== 'none' && each !== 'clock');
    const mix = mixes.find((each) => each === name);
    if (!mix) throw new Error(`there is no mix "${name}"; use all, or some of: ${mixes.join(', ')}`);
    return mix;
  });
}
