import { setTimeout as delay } from 'node:timers/promises';
import { getFunctionCalls } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { type ClientView, type Connection, type Message, now } from '../../chaos/check/history.ts';
import { isEnd, textOf } from '../../chaos/check/log.ts';
import type { Milestones } from '../../chaos/clients/milestones.ts';
import type { Reading } from '../../chaos/plan/steps.ts';
import type { Place } from '../stage/place.ts';
import { between } from '../world/random.ts';
import type { Visitor } from './clients.ts';
import type { Run } from './entry.ts';

/** The pause of a slow reader between two events, and the time for which a client that leaves stays away, in ms. */
const slowMs = 60;
const awayMs = 250;
/** The pause after a gateway that could not answer, in ms. */
const failedMs = 100;

/** A client that follows the run of its message. */
export interface Follower {
  visitor: Visitor;
  message: Message;
  view: ClientView;
  milestones: Milestones;
  reads: Reading;
}

/** Tells whether the session does not know the run, or has fewer events than its client. */
const isGone = (error: unknown) => ['not_found', 'invalid_argument'].includes(MeshError.from(error).code);

/** Reads the events of a run, and comes back to another gateway until the client was told the end. */
export async function follow(
  follower: Follower,
  gateway: Place,
  run: Run,
  leave: AbortController,
): Promise<void> {
  const after = await read(follower, gateway, run, 0, leave);
  await comeBack(follower, after);
}

/** Comes back to a run until its end. */
export async function comeBack(follower: Follower, from = 0): Promise<void> {
  const { visitor, message, view } = follower;
  const { place, clients } = visitor;
  for (let after = from; !view.finished && !view.left; ) {
    if ((place.deletedAt.get(message.session.sessionId) ?? 0) > message.sentAt) {
      view.left = true;
      return;
    }
    await delay(between(clients.random, 5, 40));
    view.reconnects += 1;
    after = await reattach(follower, after);
  }
}

async function reattach(follower: Follower, afterSeq: number): Promise<number> {
  const { visitor, message } = follower;
  const { session, invocationId = '', resume } = message;
  const { gateways } = visitor.clients;
  const gateway = gateways.next();
  const leave = new AbortController();
  try {
    const ref = { ...session, invocationId, ...(resume !== undefined && { resume }) };
    const run = await gateways.at(gateway, (entry) => entry.follow(ref, afterSeq, leave.signal));
    return await read(follower, gateway, run, afterSeq, leave);
  } catch (error) {
    // A run that a failover has taken back has no end. A client that has read "not found" gives up.
    if (visitor.clients.hasLostWrites && isGone(error)) follower.view.left = true;
    await delay(failedMs);
    return afterSeq;
  }
}

/** Reads the events of one connection. Returns the number of the last committed one. */
async function read(
  follower: Follower,
  gateway: Place,
  { numbered, end }: Run,
  after: number,
  leave: AbortController,
): Promise<number> {
  const { visitor, view, reads, milestones } = follower;
  const { gateways, open } = visitor.clients;
  const connection: Connection = { at: now(), seen: [], ended: false };
  view.connections.push(connection);
  const events = numbered[Symbol.asyncIterator]();
  let last = after;
  open.add(leave);
  end.catch(() => {});
  try {
    for (let count = 1; ; count += 1) {
      const { value, done } = await gateways.at(gateway, () => events.next());
      if (done) break;
      last = value.seq ?? last;
      noteEvent(follower, connection, value.event);
      if (reads === 'slow') await delay(slowMs);
      if (reads !== 'leaves' || view.connections.length > 1 || count < 2) continue;
      leave.abort();
      await delay(awayMs);
      return last;
    }
    const { status, error, resume } = await gateways.at(gateway, () => end);
    connection.ended = true;
    view.ends.push({ status, ...(error && { code: error.code }), ...(resume && { resume }), at: now() });
    view.finished = true;
    milestones.pass('over');
  } catch {
    leave.abort();
    await delay(failedMs / 2);
  } finally {
    open.delete(leave);
  }
  return last;
}

type Event = Parameters<typeof textOf>[0];

function noteEvent({ view, milestones }: Follower, connection: Connection, event: Event): void {
  if (getFunctionCalls(event).length > 0) milestones.pass('call');
  if (event.author === 'user') return;
  if (event.partial) {
    milestones.pass('first-word');
    return;
  }
  if (isEnd(event)) milestones.pass('last-word');
  view.seen.push(event.id);
  view.texts.push(textOf(event));
  connection.seen.push(event.id);
}
