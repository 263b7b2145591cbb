import type { FunctionResponse } from '@google/genai';
import { expect, test } from 'vitest';
import { appName, eventOf, type TheService, userId } from './session-service.ts';

/** What waits for an answer, kept with the events. */
export function pending(service: TheService): void {
  const ref = { appName, userId, sessionId: 's' };
  const asks = (id: string, name = 'approve') =>
    eventOf({
      longRunningToolIds: [id],
      content: {
        role: 'model',
        parts: [
          { functionCall: { id, name, args: { n: 1 } } },
          { functionCall: { id: `${id}-other`, name: 'plain' } },
        ],
      },
    });
  const says = (author: string, functionResponse: FunctionResponse) =>
    eventOf({ author, content: { role: 'user', parts: [{ functionResponse }] } });
  const list = async () => (await service().listPending(ref)).map(({ id }) => id);

  test('lists calls from their commit to their answer', async () => {
    const session = await service().createSession(ref);
    const event = asks('c1');
    await service().appendEvent({ session, event });
    await service().appendEvent({ session, event });
    await service().appendEvent({ session, event: asks('c2', 'adk_request_confirmation') });
    const [first, second] = await service().listPending(ref);
    expect(first).toEqual({
      id: 'c1',
      name: 'approve',
      args: { n: 1 },
      kind: 'result',
      sessionId: 's',
      invocationId: 'inv-1',
      agent: 'helper',
      created: event.timestamp,
    });
    expect(second).toMatchObject({ id: 'c2', kind: 'confirmation' });
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    expect(await list()).toEqual(['c2']);
    // The commit of the question, delivered once more, does not open it again.
    await service().appendEvent({ session, event });
    expect(await list()).toEqual(['c2']);
  });

  test('closes a call by its last word alone', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    for (const event of [
      says('helper', { id: 'c1', response: { status: 'pending' } }),
      says('user', { id: 'c1', response: { half: true }, willContinue: true }),
      says('helper', { id: 'c1', response: { half: true }, willContinue: true }),
    ]) {
      await service().appendEvent({ session, event });
      expect(await list()).toEqual(['c1']);
    }
    await service().appendEvent({
      session,
      event: says('helper', { id: 'c1', response: {}, willContinue: false }),
    });
    expect(await list()).toEqual([]);
  });

  test('lists those of one session or of all, and forgets those of a deleted one', async () => {
    for (const sessionId of ['s', 't']) {
      const session = await service().createSession({ ...ref, sessionId });
      await service().appendEvent({ session, event: asks(`in ${sessionId}`) });
    }
    expect(await list()).toEqual(['in s']);
    expect(await service().listPending({ appName, userId })).toHaveLength(2);
    expect(await service().listPending({ appName, userId: 'bob' })).toEqual([]);
    await service().deleteSession(ref);
    expect((await service().listPending({ appName, userId })).map(({ id }) => id)).toEqual(['in t']);
  });
}
