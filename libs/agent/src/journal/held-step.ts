import type { Event } from '@agentmesh/protocol';

/**
 * A step of an agent whose events the asking process commits. Each request continues by one step of the
 * agent.
 */
export interface HeldStep {
  /**
   * The number of the asking process's attempt at its work, and the number of earlier requests for this step.
   * Within nested held steps, the numbers of the outer steps come first.
   */
  part: number[];
  /**
   * Events that the asking process has received and that are not in the log, in order. Each has the number of
   * the last event in the log before it. User code has kept an event with `isKeptBack` out of the log: only
   * the agent that made the event sees it.
   */
  uncommitted: { event: Event; afterSeq: number; isKeptBack?: boolean | undefined }[];
  /** The originals of events that user code of the asking process has changed. */
  originals: Event[];
  /** The same events as they are in the log, by id. Set after the log is read. */
  edited?: ReadonlyMap<string, Event>;
  /** State that uncommitted events, and user code without an event, have written. */
  state: Record<string, unknown>;
}

/**
 * Tells whether the request is the first request for the step. Work that began before the first request was
 * interrupted by a crash.
 */
export function isFirstPart({ part }: HeldStep): boolean {
  return part.slice(1).every((request) => request === 0);
}
