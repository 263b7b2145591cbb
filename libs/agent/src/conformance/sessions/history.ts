import type { Event } from '@agentmesh/protocol';
import { beforeEach, expect, test } from 'vitest';
import type { Session } from '../../sessions/session.ts';
import { forkSession, importSession, rewindSession } from '../../sessions/session-history.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, meshError, refOf, reread, take, userId } from './kit.ts';

/** Tests of rewinding, copies and imported events. */
export function history(service: TheService): void {
  const ref = { appName, userId, sessionId: 's' };
  let session: Session;
  beforeEach(async () => {
    session = await service().createSession({ ...ref, state: { color: 'red', 'user:name': 'Ann' } });
  });
  const append = async (...events: Event[]) => {
    for (const event of events) await service().appendEvent({ session, event });
  };
  const asks = (id: string, invocationId: string) =>
    eventOf({
      invocationId,
      content: { role: 'model', parts: [{ functionCall: { id, name: 'order', args: {} } }] },
      longRunningToolIds: [id],
    });

  test('returns the initial state of a session', async () => {
    await append(deltaOf({ color: 'blue', size: 1 }));
    expect(await service().log.initialState(ref)).toEqual({ color: 'red' });
    expect(await service().log.initialState({ ...ref, sessionId: 'none' })).toBeUndefined();
  });

  test('rewinds to before an invocation, with the state of that time', async () => {
    await append(deltaOf({ size: 1 }, { invocationId: 'one' }));
    await append(deltaOf({ size: 2, color: 'blue', 'user:name': 'Bob' }, { invocationId: 'two' }));
    await append(deltaOf({ shape: 'round' }, { invocationId: 'three' }), asks('c1', 'three'));
    const event = await rewindSession(service(), ref, 'two');
    expect(event.actions).toMatchObject({ rewindBeforeInvocationId: 'two', closedCalls: ['c1'] });
    const now = await reread(service(), session);
    expect(now.state).toEqual({ size: 1, color: 'red', shape: null, 'user:name': 'Bob' });
    expect(now.events).toHaveLength(5);
    expect(await service().pending.list(ref)).toEqual([]);
    expect(await service().pending.stateOf({ ...ref, callId: 'c1' })).toBe('answered');
    // The session is free again.
    await take(service(), { ...ref, invocationId: 'four' });
  });

  test('does not rewind while a run is running, or to an unknown invocation', async () => {
    await append(eventOf({ invocationId: 'one' }));
    await expect(rewindSession(service(), ref, 'never')).rejects.toMatchObject(meshError('not_found'));
    const nowhere = { ...ref, sessionId: 'none' };
    await expect(rewindSession(service(), nowhere, 'one')).rejects.toMatchObject(meshError('not_found'));
    await take(service(), { ...ref, invocationId: 'at work' });
    await expect(rewindSession(service(), ref, 'one')).rejects.toMatchObject(meshError('resource_exhausted'));
    expect((await reread(service(), session)).seq).toBe(1);
  });

  test('copies a session, whole or up to an invocation', async () => {
    await append(deltaOf({ size: 1 }, { invocationId: 'one' }));
    await append(deltaOf({ size: 2, 'user:name': 'Bob' }, { invocationId: 'two' }));
    const whole = await forkSession(service(), ref);
    expect(whole.events).toEqual((await reread(service(), session)).events);
    expect(whole.state).toEqual({ color: 'red', size: 2, 'user:name': 'Bob' });
    await append(deltaOf({ 'user:name': 'Cid' }));
    const part = await forkSession(service(), ref, { sessionId: 'part', beforeInvocationId: 'two' });
    expect(part).toMatchObject({ id: 'part', seq: 1, state: { color: 'red', size: 1, 'user:name': 'Cid' } });
    await service().appendEvent({ session: part, event: deltaOf({ size: 9 }) });
    expect((await reread(service(), session)).state.size).toBe(2);
    await expect(forkSession(service(), ref, { sessionId: 'part' })).rejects.toMatchObject(
      meshError('already_exists'),
    );
  });

  test('keeps pending calls in the original: in the copy they have expired', async () => {
    await append(asks('c1', 'one'));
    const copy = await forkSession(service(), ref);
    expect(copy.events).toHaveLength(2);
    expect(copy.events[1]?.content?.parts?.[0]?.functionResponse).toMatchObject({
      id: 'c1',
      response: { expired: true },
    });
    expect(await service().pending.list(refOf(copy))).toEqual([]);
    expect(await service().pending.list(ref)).toHaveLength(1);
  });

  test('imports a session of many events', async () => {
    const events = Array.from({ length: 450 }, (_, n) => deltaOf({ n, 'app:n': n, 'temp:n': n }));
    const imported = await importSession(service(), { ...ref, sessionId: 'in', state: { a: 1 }, events });
    expect(imported).toMatchObject({ seq: 450, state: { a: 1, n: 449 } });
    expect(imported.state).not.toHaveProperty('app:n');
    expect(imported.lastUpdateTime).toBe(events.at(-1)?.timestamp);
    await service().appendEvent({ session: imported, event: eventOf() });
    const { sessions } = await service().listSessions({ appName, userId });
    expect(sessions.map(({ id }) => id)).toContain('in');
  });

  test('imports large events, in order', async () => {
    const text = 'x'.repeat(3 * 1024 * 1024);
    const event = (n: number) =>
      deltaOf(
        { n, [`at${n}`]: true },
        { content: { role: 'model', parts: [{ text: n === 1 ? '' : text }] } },
      );
    const events = [0, 1, 2, 3].map(event);
    await service().log.appendHistory(ref, { afterSeq: 0, events });
    await service().log.appendHistory(ref, { afterSeq: 0, events });
    const now = await reread(service(), session);
    expect(now.events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(now.state).toMatchObject({ n: 3, at0: true, at1: true, at2: true, at3: true });
  });

  test('deletes a session that cannot be imported completely', async () => {
    const events = [...Array.from({ length: 250 }, () => eventOf()), eventOf({ id: '' })];
    const request = { ...ref, sessionId: 'in', events };
    await expect(importSession(service(), request)).rejects.toMatchObject(meshError('invalid_argument'));
    expect(await service().getSession({ ...ref, sessionId: 'in' })).toBeUndefined();
  });

  test.each<[string, () => Event[]]>([
    ['is partial', () => [eventOf({ partial: true })]],
    ['has the id of an earlier one', () => [eventOf({ id: 'twice' }), eventOf({ id: 'twice' })]],
    [
      'rewinds to before invocation never',
      () => [eventOf({ actions: { rewindBeforeInvocationId: 'never' } })],
    ],
    [
      'summarizes 7 events, but only 0',
      () => [
        eventOf({
          actions: {
            compaction: { startTimestamp: 0, endTimestamp: 0, throughSeq: 7, compactedContent: '' },
          },
        }),
      ],
    ],
  ])('refuses history when an event %s', async (problem, events) => {
    const request = { ...ref, sessionId: 'in', events: events() };
    await expect(importSession(service(), request)).rejects.toThrow(problem);
    expect(await service().getSession({ ...ref, sessionId: 'in' })).toBeUndefined();
  });

  test('appends history once, and only where it belongs', async () => {
    const events = [eventOf(), eventOf()];
    await service().log.appendHistory(ref, { afterSeq: 0, events });
    await service().log.appendHistory(ref, { afterSeq: 0, events });
    expect((await reread(service(), session)).events).toEqual(events);
    const more = { afterSeq: 1, events: [eventOf()] };
    await expect(service().log.appendHistory(ref, more)).rejects.toMatchObject(
      meshError('failed_precondition'),
    );
    const gone = service().log.appendHistory({ ...ref, sessionId: 'none' }, { afterSeq: 0, events });
    await expect(gone).rejects.toMatchObject(meshError('not_found'));
    await service().log.appendHistory(ref, { afterSeq: 2, events: [] });
  });
}
