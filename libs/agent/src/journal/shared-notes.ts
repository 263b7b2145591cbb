import { HeardEvents } from './heard-events.ts';

/** Notes that the contexts of one run of an invocation in this process share. */
export interface SharedNotes {
  /** By agent: how often it was told that a limit of the invocation is reached. */
  refusals: Map<string, number>;
  /** Ids of events that come from agents elsewhere: the plugins of their processes have seen them. */
  fromElsewhere: Set<string>;
  /** By event id: what an agent's flow has made, where code of the user's sees it before it is committed. */
  made: Map<string, MadeEvent>;
  /** Events of agents that code of the user's runs. */
  heard: HeardEvents;
}

/** An event as an agent's flow made it. */
export interface MadeEvent {
  author: string | undefined;
  /** Did the agent's turn end with it? Undefined for what is no step. */
  ends: boolean | undefined;
  /** Its content as far as steps are concerned. */
  gist: string;
}

export function createNotes(): SharedNotes {
  return { refusals: new Map(), fromElsewhere: new Set(), made: new Map(), heard: new HeardEvents() };
}
