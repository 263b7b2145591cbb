import { setTimeout as delay } from 'node:timers/promises';
import { getFunctionCalls } from '@agentmesh/agent';
import type { Event, SessionRef } from '@agentmesh/protocol';
import { framesOf } from '../../sse-client.ts';
import { type ClientView, type Connection, type Ending, now } from '../check/history.ts';
import { isEnd } from '../check/log.ts';
import type { Reading } from '../plan/steps.ts';
import { type Answered, codeOf, type GatewayDoor, pathOf } from './gateway-door.ts';
import type { Milestones } from './milestones.ts';

/** A client that follows one run. */
export interface Follower {
  door: GatewayDoor;
  session: SessionRef;
  invocationId: string;
  view: ClientView;
  reads: Reading;
  milestones: Milestones;
  /** Tells whether the session was deleted after the message was sent. */
  isDeleted: () => boolean;
}

export const emptyView = (): ClientView => ({
  ...{ seen: [], texts: [], finished: false, ends: [], reconnects: 0, connections: [] },
});

/** The pause of a slow reader between two frames, in ms. */
const slowMs = 60;
/** The time for which a client that leaves stays away, in ms. */
const awayMs = 250;

/** Reads the answer of `/run_sse`, and then comes back to the run until its end. */
export async function followRun(follower: Follower, first: Response | undefined): Promise<void> {
  const { view, door } = follower;
  let after = first ? await readFrames(follower, first, 0) : 0;
  while (!view.finished) {
    if (follower.isDeleted()) {
      view.left = true;
      return;
    }
    await door.elsewhere();
    view.reconnects += 1;
    after = await reattach(follower, after);
  }
}

async function reattach(follower: Follower, after: number): Promise<number> {
  const { door, session, invocationId } = follower;
  const path = `${pathOf(session)}/invocations/${invocationId}`;
  const response = await door.send('GET', `${path}/events?after=${after}`);
  if (response?.status === 200) return await readFrames(follower, response, after);
  await response?.body?.cancel().catch(() => {});
  if (response?.status === 204) await askEnd(follower, after);
  return after;
}

/** Reads the events of one connection. Returns the number of the last committed one. */
async function readFrames(follower: Follower, response: Response, after: number): Promise<number> {
  const { view, door, reads } = follower;
  const connection: Connection = { at: now(), seen: [], ended: false };
  view.connections.push(connection);
  let last = after;
  let failed = false;
  try {
    let frames = 0;
    for await (const { id, event } of framesOf(response)) {
      if (id !== undefined) last = id;
      if (event.error !== undefined) failed = true;
      else noteEvent(follower, connection, event);
      frames += 1;
      if (reads === 'slow') await delay(slowMs);
      if (reads === 'leaves' && view.connections.length === 1 && frames === 2) {
        await delay(awayMs);
        return last;
      }
    }
    if (!failed) tellEnd(follower, connection, { status: 'completed' });
  } catch {
    door.signal.throwIfAborted();
  }
  if (failed) await askEnd(follower, last);
  return last;
}

function noteEvent({ view, milestones }: Follower, connection: Connection, event: Event): void {
  if (getFunctionCalls(event).length > 0) milestones.pass('call');
  if (event.partial) {
    milestones.pass('first-word');
    return;
  }
  if (isEnd(event)) milestones.pass('last-word');
  view.seen.push(event.id);
  view.texts.push(event.content?.parts?.map(({ text }) => text ?? '').join('') ?? '');
  connection.seen.push(event.id);
}

/**
 * Asks for the status of the run. The end counts once the client has all events: otherwise it comes back for
 * them first.
 */
async function askEnd(follower: Follower, after: number): Promise<void> {
  const { door, session, invocationId, view } = follower;
  const answer = await door.ask('GET', `${pathOf(session)}/invocations/${invocationId}`);
  const end = answer && endOf(answer);
  if (!end || Number(answer.body.lastSeq ?? 0) > after) return;
  tellEnd(follower, view.connections.at(-1), end);
}

function endOf({ status, body }: Answered): Ending | undefined {
  if (status !== 200) return undefined;
  if (body.status === 'completed') return { status: 'completed' };
  if (body.status !== 'failed' && body.status !== 'cancelled') return undefined;
  const code = codeOf({ status, body: (body.error ?? {}) as Record<string, unknown> });
  return { status: 'failed', ...(code !== undefined && { code }) };
}

function tellEnd({ view, milestones }: Follower, connection: Connection | undefined, end: Ending): void {
  view.ends.push({ ...end, at: now() });
  view.finished = true;
  if (connection) connection.ended = true;
  milestones.pass('over');
}
