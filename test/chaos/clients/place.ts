import type { SessionRef } from '@agentmesh/protocol';
import { type Act, now } from '../check/history.ts';
import type { Traffic } from '../traffic.ts';
import type { Milestones } from './milestones.ts';
import type { NatsDoor } from './nats-door.ts';

/** The data that all clients share. */
export interface World {
  app: string;
  traffic: Traffic;
  gateways: readonly string[];
  nats: NatsDoor;
  /** The longest time of one step with all its attempts, in ms. */
  patienceMs: number;
  signal: AbortSignal;
  /** The time after which clients begin no visit; default none. */
  until?: number | undefined;
  onDone?: (() => void) | undefined;
}

/** The place of a visit: its current session, and the progress of its messages. */
export interface Place {
  user: string;
  /** The current session; absent before the first message, and after one that may have been accepted. */
  session?: Promise<SessionRef> | undefined;
  /** The times at which the current session was deleted last, by its id. */
  deletedAt: Map<string, number>;
  milestones: Map<string, Milestones>;
}

export const newPlace = (user: string): Place => ({ user, deletedAt: new Map(), milestones: new Map() });

/** Notes an act while it is carried out. Returns the act, to which its outcome is added. */
export function beginAct({ traffic }: World, act: Pick<Act, 'kind' | 'session'> & Partial<Act>): Act {
  const begun: Act = { outcome: 'unknown', ...act, sentAt: now() };
  traffic.acts.push(begun);
  return begun;
}
