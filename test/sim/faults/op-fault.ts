/**
 * A fault at an operation: the process dies right before it or right after it, or is stopped there, or Redis fails over
 * to a replica that lacks the operation and the writes right after it.
 */
export const opFaultKinds = ['before', 'after', 'pause', 'failover'] as const;
export type OpFaultKind = (typeof opFaultKinds)[number];

/** A fault at one operation of one process. */
export interface OpFault {
  /** The life: `front_agent/1#1`. */
  life: string;
  /** The number of the operation in the life, from 1. */
  op: number;
  when: OpFaultKind;
}

/** The time for which a process is stopped, in ms: longer than ack waits, leases of tools, and silences of callers. */
export const pauseMs = 8_000;

/** Writes faults for a command line: `front_agent/1/12/after`; of a second life `front_agent/1#2/3/before`. */
export function writeOpFaults(faults: readonly OpFault[]): string {
  return faults.map(({ life, op, when }) => `${life.replace(/#1$/, '')}/${op}/${when}`).join(',');
}

/** Reads faults that {@link writeOpFaults} wrote. @throws Error */
export function readOpFaults(text: string): OpFault[] {
  return text.split(',').map((each) => {
    const [, place, life = '#1', op, kind] = /^(\w+\/\d+)(#\d+)?\/(\d+)\/(\w+)$/.exec(each) ?? [];
    const when = opFaultKinds.find((name) => name === kind);
    if (place === undefined || !when)
      throw new Error(`use <place>/<operation>/<${opFaultKinds.join('|')}>, as in front_agent/1/12/after`);
    return { life: `${place}${life}`, op: Number(op), when };
  });
}
