import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type SessionRef } from '@agentmesh/protocol';
import { type Act, type ClientView, type Message, now } from './check/history.ts';
import { answer, cancel, fork, outcome, remove, rewind, upload } from './clients/acts.ts';
import { newPlace, type Place, type World } from './clients/place.ts';
import { say } from './clients/say.ts';
import type { OpKind } from './model.ts';
import type { Step, Visit } from './plan/steps.ts';

/** One message of a client, with the client's knowledge about it. */
export interface Attempt extends SessionRef {
  /**
   * The invocation's id, which comes with the first byte of the answer; unknown when the connection broke
   * before.
   */
  invocationId?: string;
  view: ClientView;
}

/** One operation of a client, and its result. */
export interface Operation {
  id: string;
  kind: OpKind;
  /** The attempts. As far as the client knows, only the last one may have been accepted. */
  attempts: Attempt[];
  done: boolean;
  ms: number;
}

/** The record of all clients. */
export interface Traffic {
  operations: Operation[];
  /** All sessions that the clients made. */
  sessions: Map<string, SessionRef>;
  messages: Message[];
  acts: Act[];
}

export const emptyTraffic = (): Traffic => ({ operations: [], sessions: new Map(), messages: [], acts: [] });

/** Makes the visits. Each client makes one after the other. */
export async function driveTraffic(world: World, visits: Iterable<Visit>, clients: number): Promise<void> {
  const queue = visits[Symbol.iterator]();
  const isOver = () => world.signal.aborted || now() > (world.until ?? Number.POSITIVE_INFINITY);
  const drive = async () => {
    for (let next = queue.next(); !next.done && !isOver(); next = queue.next()) {
      await makeVisit(world, next.value);
    }
  };
  await Promise.all(Array.from({ length: clients }, drive));
}

async function makeVisit(world: World, { user, bursts }: Visit): Promise<void> {
  const place = newPlace(user);
  for (const burst of bursts) {
    if (world.signal.aborted) return;
    await Promise.all(burst.map((step) => takeStep(world, place, step)));
  }
}

/** Takes one step at its time. A step that runs out of patience ends without an error; the history shows it. */
async function takeStep(world: World, place: Place, step: Step): Promise<void> {
  try {
    // The time of a cancellation counts from the moment for which it waits.
    if (step.atMs > 0 && !(step.do === 'cancel' && step.when !== 'accepted')) await delay(step.atMs);
    await steps[step.do](world, place, step as never);
  } catch (error) {
    const isOver = world.signal.aborted || MeshError.from(error).code === 'deadline_exceeded';
    if (!isOver) throw error;
  }
}

const steps = { say, answer, cancel, fork, outcome, rewind, upload, delete: remove } satisfies Record<
  Step['do'],
  (world: World, place: Place, step: never) => Promise<void>
>;
