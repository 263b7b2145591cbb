import { HeardEvents } from './heard-events.ts';

/** Notes that the contexts of one run of an invocation share within this process. */
export interface SharedNotes {
  /** By agent: number of times it was told that a limit of the invocation is reached. */
  refusals: Map<string, number>;
  /** By agent: the counts of its equal model requests, up to this number of the log's last event. */
  requests: Map<string, { seq: number; counts: Map<string, number> }>;
  /** Ids of events from agents of other processes. The plugins of those processes have already seen them. */
  fromElsewhere: Set<string>;
  /** By event id: the original of an event that user code may change before it is committed. */
  made: Map<string, MadeEvent>;
  /** Events of agents that user code runs. */
  heard: HeardEvents;
}

/** An event as the agent's flow made it. */
export interface MadeEvent {
  author: string | undefined;
  /** Tells whether the agent's turn ended with the event; undefined for an event that is not a step. */
  ends: boolean | undefined;
  /** The event's content as far as steps are concerned, serialized. */
  gist: string;
}

export function createNotes(): SharedNotes {
  return {
    refusals: new Map(),
    requests: new Map(),
    fromElsewhere: new Set(),
    made: new Map(),
    heard: new HeardEvents(),
  };
}
