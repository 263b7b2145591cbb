/** A stretch of time, in ms of this process' monotonic clock. */
export type Stretch = [from: number, to: number];

/** One process of a place, from its start to its death. Times are ms of this process' monotonic clock. */
export interface Life {
  /** The name of the process: `front_agent/1#2`. */
  replica: string;
  startedAt: number;
  diedAt?: number;
  /** The stretches in which the process was stopped (SIGSTOP). */
  pauses: Stretch[];
  /** The stretches in which the process did not reach a server. */
  cutOffs: Stretch[];
}

/** A fault that was carried out. */
export interface FaultRecord {
  /** The time of the fault, in ms of this process' monotonic clock. */
  at: number;
  kind: string;
  /** The process or the server. */
  target: string;
  /** The duration, in ms, where the fault has one. */
  forMs?: number;
}

/** The record of all lives and faults of a field. */
export interface FieldLog {
  readonly lives: Life[];
  readonly faults: FaultRecord[];
}

/** Notes that a stretch of a life begins now. Returns a function that notes its end. */
export function beginStretch(stretches: Stretch[]): () => void {
  const stretch: Stretch = [performance.now(), Number.POSITIVE_INFINITY];
  stretches.push(stretch);
  return () => {
    stretch[1] = performance.now();
  };
}
