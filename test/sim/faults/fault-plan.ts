import type { OpFault } from './op-fault.ts';
import type { Rates } from './rates.ts';
import type { Sabotage } from './sabotages.ts';
import type { TimedFault } from './timed-fault.ts';

/** All faults of a history. They are data, so that they can be printed, repeated and dropped one by one. */
export interface FaultPlan {
  /** Faults at operations. */
  ops?: readonly OpFault[];
  /** Faults at times. */
  timed?: readonly TimedFault[];
  /** The rates of small faults. */
  rates?: Partial<Rates>;
  /** The time after which no small fault comes, in ms after the beginning of the traffic. */
  calmAtMs?: number;
  /** Acknowledgements younger than this are lost when the broker is killed, in ms; default 0. */
  flushMs?: number;
  /** Whether a write to Redis is done only when its replica has it (`MESH_REDIS_WAIT_REPLICAS=1`); default true. */
  waitsForReplica?: boolean;
  /** A protection of the code that is removed. */
  sabotage?: Sabotage | undefined;
}
