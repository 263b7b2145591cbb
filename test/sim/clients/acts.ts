import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import { type Act, now } from '../../chaos/check/history.ts';
import type { Cancel, Delete, Fork, Rewind, Upload } from '../../chaos/plan/steps.ts';
import { sessionOf, type Visitor } from './clients.ts';
import type { Entry } from './entry.ts';
import { isUnknown } from './gateways.ts';

/** The tries to cancel a run that has not begun, and the pause between them, in ms. */
const cancelTries = 12;
const cancelPauseMs = 40;

/** Carries out an act at one gateway, and notes its outcome. */
async function once<T>(
  { clients }: Visitor,
  act: Act,
  run: (entry: Entry) => Promise<T>,
): Promise<T | undefined> {
  const { gateways } = clients;
  try {
    const result = await gateways.at(gateways.next(), run);
    Object.assign(act, { doneAt: now(), outcome: 'done' });
    return result;
  } catch (error) {
    if (!isUnknown(error)) refuse(act, error);
    return undefined;
  }
}

/** Repeats an act until there is an answer. After a repetition, a refusal tells nothing about the first request. */
async function untilAnswered(
  { clients }: Visitor,
  act: Act,
  run: (entry: Entry) => Promise<unknown>,
): Promise<void> {
  let tries = 0;
  try {
    await clients.gateways.insist((entry) => {
      tries += 1;
      return run(entry);
    });
    Object.assign(act, { doneAt: now(), outcome: 'done' });
  } catch (error) {
    if (tries === 1) refuse(act, error);
    else act.doneAt = now();
  }
}

function refuse(act: Act, error: unknown): void {
  Object.assign(act, { doneAt: now(), outcome: 'refused', code: MeshError.from(error).code });
}

export async function cancel(visitor: Visitor, { of, when, atMs }: Cancel): Promise<void> {
  const { place, clients } = visitor;
  const milestones = place.milestones.get(of);
  await milestones?.reached(when);
  if (when !== 'accepted') await delay(atMs);
  const { invocationId } = milestones ?? {};
  if (invocationId === undefined || !place.session) return;
  const session = await sessionOf(visitor);
  for (let attempt = 1; attempt <= cancelTries; attempt += 1) {
    const act = clients.begin({ kind: 'cancel', session, invocationId });
    await once(visitor, act, (entry) => entry.cancel({ ...session, invocationId }));
    if (act.outcome === 'done') return;
    await delay(cancelPauseMs);
  }
}

export async function remove(visitor: Visitor, { again }: Delete): Promise<void> {
  const { place, clients } = visitor;
  const session = await sessionOf(visitor);
  // From now on, the session's runs may be gone at any time.
  place.deletedAt.set(session.sessionId, Number.POSITIVE_INFINITY);
  const act = clients.begin({ kind: 'delete', session });
  await untilAnswered(visitor, act, (entry) => entry.deleteSession(session));
  place.session = undefined;
  if (!again || act.outcome !== 'done') return;
  const creation = clients.begin({ kind: 'create', session });
  await untilAnswered(visitor, creation, (entry) => entry.remakeSession(session));
  if (creation.outcome !== 'done') return;
  place.session = Promise.resolve(session);
  place.deletedAt.set(session.sessionId, now());
}

/** Deletes all data of a user, again and again until nothing was left. */
export async function removeUser(visitor: Visitor): Promise<void> {
  const { place, clients } = visitor;
  const { user: userId } = place;
  const acts = new Map<string, Act>();
  /** Notes the deletion of all sessions that clients of the user have now. */
  const note = () => {
    for (const { session } of clients.traffic.messages) {
      if (session.userId !== userId || acts.has(session.sessionId)) continue;
      place.deletedAt.set(session.sessionId, Number.POSITIVE_INFINITY);
      acts.set(session.sessionId, clients.begin({ kind: 'delete', session }));
    }
  };
  note();
  clients.erasedUsers.add(userId);
  place.session = undefined;
  for (let isComplete = false; !isComplete; ) {
    isComplete = await clients.gateways.insist((entry) => entry.deleteUser(userId));
  }
  for (const act of acts.values()) Object.assign(act, { doneAt: now(), outcome: 'done' });
  // A session that was made meanwhile may be deleted with the others.
  note();
}

export async function fork(visitor: Visitor, { goOn }: Fork): Promise<void> {
  const { place, clients } = visitor;
  const session = await sessionOf(visitor);
  const act = clients.begin({ kind: 'fork', session });
  const forkId = await once(visitor, act, (entry) => entry.fork(session));
  if (forkId === undefined) return;
  act.forkId = forkId;
  if (goOn) place.session = Promise.resolve({ ...session, sessionId: forkId });
}

export async function rewind(visitor: Visitor, { before }: Rewind): Promise<void> {
  const { place, clients } = visitor;
  const invocationId = place.milestones.get(before)?.invocationId;
  if (invocationId === undefined || !place.session) return;
  const session = await sessionOf(visitor);
  const act = clients.begin({ kind: 'rewind', session, invocationId });
  await once(visitor, act, (entry) => entry.rewind(session, invocationId));
}

export async function upload(visitor: Visitor, { id, bytes }: Upload): Promise<void> {
  const session = await sessionOf(visitor);
  const text = 'y'.repeat(bytes);
  await visitor.clients.gateways.insist((entry) => entry.save(session, `upload-${id}.txt`, text));
}
