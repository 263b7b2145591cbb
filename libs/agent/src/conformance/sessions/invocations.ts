import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, refOf, userId } from './kit.ts';

/** Tests of invocation records. */
export function invocations(service: TheService): void {
  const ref = { appName, userId, sessionId: 's', invocationId: 'inv-1' };
  const fresh = { status: 'running', temp: {}, llmCalls: 0, tokens: 0 };

  test('has the record of an invocation that did nothing yet', async () => {
    expect(await service().invocations.get(ref)).toEqual(fresh);
  });

  test('counts model calls of all its processes', async () => {
    const counts = await Promise.all(
      Array.from({ length: 32 }, () => service().invocations.countLlmCall(ref)),
    );
    expect(counts.sort((a, b) => a - b)).toEqual(counts.map((_, at) => at + 1));
    expect(await service().invocations.countLlmCall({ ...ref, sessionId: 'child' })).toBe(33);
    expect(await service().invocations.countLlmCall({ ...ref, invocationId: 'inv-2' })).toBe(1);
    expect(await service().invocations.countLlmCall({ ...ref, userId: 'bob' })).toBe(1);
    expect(await service().invocations.get(ref)).toEqual({ ...fresh, llmCalls: 33, tokens: 0 });
  });

  test('counts the tokens of committed answers, once each, over all sessions of the invocation', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const child = await service().createSession({ appName, userId, sessionId: 'child', hidden: true });
    const answer = (totalTokenCount: number) => eventOf({ usageMetadata: { totalTokenCount } });
    const first = answer(7);
    for (const event of [first, first, eventOf()]) await service().appendEvent({ session, event });
    await service().appendEvent({ session: child, event: answer(5) });
    for (const strange of [-3, 0.5, Number.MAX_VALUE]) {
      await service().appendEvent({ session, event: answer(strange) });
    }
    expect((await service().invocations.get(ref)).tokens).toBe(12);
  });

  test('counts model calls with a commit, once', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const calls = { uncounted: 2, counted: 0 };
    const event = eventOf();
    await service().appendEvent({ session, event, calls });
    expect(calls).toEqual({ uncounted: 0, counted: 2 });
    await service().appendEvent({ session, event, calls });
    await service().invocations.countLlmCall(ref);
    await service().appendEvent({ session, event: eventOf(), calls });
    expect(calls).toEqual({ uncounted: 0, counted: 3 });
    // The calls that a refused commit did not count are left.
    const late = { uncounted: 1, counted: 3 };
    const gone = { ...session, id: 'gone' };
    await expect(service().appendEvent({ session: gone, event: eventOf(), calls: late })).rejects.toThrow();
    expect(late).toEqual({ uncounted: 1, counted: 3 });
    const other = { uncounted: 1, counted: 3 };
    await Promise.all(
      [eventOf(), eventOf()].map((each) => service().appendEvent({ session, event: each, calls: other })),
    );
    expect(other).toEqual({ uncounted: 0, counted: 4 });
    expect((await service().invocations.get(ref)).llmCalls).toBe(4);
  });

  test('tells which services work for the run that has a session, until its end', async () => {
    const { invocations: records, leases } = service();
    await service().createSession({ appName, userId, sessionId: 's' });
    expect(await records.workIn(ref)).toBeUndefined();
    await leases.take(ref, { run: '', whenBusy: 'reject', agent: 'root' });
    expect(await records.workIn(ref)).toEqual({
      ...{ invocationId: 'inv-1', agent: 'root' },
      ...{ parts: [], tools: [] },
    });
    const child = { ...ref, sessionId: 'child' };
    await records.beginAttempt(child, 'asked');
    await records.beginAttempt(child, 'given up');
    await records.closePart(child, 'given up');
    await records.noteCall(child, { id: 'c1', tool: 'reader' });
    await records.noteCall(ref, { id: 'c2', tool: 'reader' });
    const work = { invocationId: 'inv-1', agent: 'root', parts: ['asked'], tools: ['reader'] };
    expect(await records.workIn(ref)).toEqual(work);
    expect(await records.workIn(child)).toBeUndefined();
    await records.dropCall(child, 'c1');
    expect(await records.workIn(ref)).toEqual(work);
    await records.dropCall(ref, 'c2');
    await records.dropCall(ref, 'c2');
    expect(await records.workIn(ref)).toEqual({ ...work, tools: [] });
    await records.end(ref, { status: 'completed' });
    expect(await records.workIn(ref)).toBeUndefined();
  });

  test('keeps the first end', async () => {
    const error = { code: 'unavailable', message: 'the model is away' };
    const ended = { ...fresh, status: 'failed', error };
    const found = { ...ended, lastSeq: 0, isIdle: true };
    expect(await service().invocations.end(ref, { status: 'failed', error })).toEqual(found);
    expect(await service().invocations.end(ref, { status: 'completed' })).toEqual(found);
    expect(await service().invocations.get(ref)).toEqual(ended);
  });

  test('keeps one of many concurrent ends, and returns it to all', async () => {
    const errors = Array.from({ length: 8 }, (_, n) => ({ code: 'internal', message: `end ${n}` }));
    const records = await Promise.all(
      errors.map((error) => service().invocations.end(ref, { status: 'failed', error })),
    );
    expect(new Set(records.map(({ error }) => error?.message)).size).toBe(1);
  });

  test('keeps its counters and temp: state until its end', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    await service().appendEvent({ session, event: deltaOf({ 'temp:t': 'x' }) });
    await service().invocations.countLlmCall({ ...refOf(session), invocationId: 'inv-1' });
    const record = await service().invocations.end(ref, { status: 'completed' });
    const found = { lastSeq: 1, isIdle: true };
    expect(record).toEqual({
      status: 'completed',
      temp: { 'temp:t': 'x' },
      llmCalls: 1,
      tokens: 0,
      ...found,
    });
  });

  test('stores the event that it returns', async () => {
    const error = { code: 'internal', message: 'first' };
    const record = await service().invocations.end(ref, { status: 'failed', error });
    Object.assign(record.temp, { 'temp:x': 1 });
    error.message = 'changed';
    expect(await service().invocations.get(ref)).toMatchObject({ temp: {}, error: { message: 'first' } });
  });
}
