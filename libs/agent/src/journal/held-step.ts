import type { Event } from '@agentmesh/protocol';

/** A step of a workflow elsewhere, whose events are committed there. Each request goes on by one step of the agent. */
export interface HeldStep {
  /** The asker's attempt at its work, and the number of requests for this step before this one; within held steps, theirs first. */
  part: number[];
  /**
   * Events that the asker has heard and that are not in the log, in order, each with the number of the last event in the log before it. One that
   * code of the user's has kept back is for its own agent alone.
   */
  uncommitted: { event: Event; afterSeq: number; isKeptBack?: boolean | undefined }[];
  /** Events that the asker's code has changed, as they were. */
  originals: Event[];
  /** The same events as they are in the log, by id; known once the log is read. */
  edited?: ReadonlyMap<string, Event>;
  /** State that uncommitted events have written, as the asker sees it. */
  state: Record<string, unknown>;
}
