import type { Event } from '@agentmesh/protocol';

/** One conversation as its agents see it. `state` holds all scopes, keys with their prefixes. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: Record<string, unknown>;
  events: Event[];
  /** Epoch ms of the last committed event. */
  lastUpdateTime: number;
  /** Sequence number of the last committed event known to this object; 0 before the first. */
  seq: number;
}

/** Counts the events of a session that lie before those that were read: a turn need not have all. */
export function unreadBefore({ seq, events }: Session): number {
  return seq - events.length;
}
