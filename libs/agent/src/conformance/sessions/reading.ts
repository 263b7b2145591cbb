import { beforeEach, expect, test } from 'vitest';
import type { GetSessionConfig } from '../../sessions/session-service.ts';
import type { TheService } from './kit.ts';
import { appName, eventOf, meshError, userId } from './kit.ts';

/** Tests of reading parts of the log. */
export function reading(service: TheService): void {
  const ref = { appName, userId, sessionId: 's' };
  const times = [100, 200, 300, 250, 400];
  beforeEach(async () => {
    const session = await service().createSession(ref);
    for (const timestamp of times) await service().appendEvent({ session, event: eventOf({ timestamp }) });
  });
  const timesOf = async (config: GetSessionConfig) =>
    (await service().getSession({ ...ref, config }))?.events.map(({ timestamp }) => timestamp);
  const read = async (range: { afterSeq?: number; limit?: number }) =>
    (await service().log.readEvents({ ...ref, ...range })).map(({ seq, event }) => [seq, event.timestamp]);

  test.each<[GetSessionConfig, number[]]>([
    [{}, times],
    [{ numRecentEvents: 2 }, [250, 400]],
    [{ numRecentEvents: 9 }, times],
    [{ numRecentEvents: 0 }, []],
    [{ afterTimestamp: 250 }, [300, 250, 400]],
    [{ afterTimestamp: 401 }, []],
    [{ afterTimestamp: 200, numRecentEvents: 3 }, [300, 250, 400]],
    [{ afterTimestamp: 300, numRecentEvents: 3 }, [300, 400]],
    [{ afterTimestamp: 300, numRecentEvents: 0 }, []],
    [{ afterSeq: 0 }, times],
    [{ afterSeq: 3 }, [250, 400]],
    [{ afterSeq: 5 }, []],
    [{ afterSeq: 500 }, []],
    [{ afterSeq: 2, numRecentEvents: 2 }, [250, 400]],
    [{ afterSeq: 3, numRecentEvents: 4 }, [250, 400]],
    [{ afterSeq: 2, afterTimestamp: 300 }, [300, 400]],
  ])('reads a session with %j', async (config, expected) => {
    expect(await timesOf(config)).toEqual(expected);
    const session = await service().getSession({ ...ref, config });
    expect(session).toMatchObject({ seq: 5, lastUpdateTime: 400 });
  });

  test('refuses an invalid number of events', async () => {
    for (const config of [
      { numRecentEvents: -1 },
      { numRecentEvents: 1.5 },
      { numRecentEvents: Number.NaN },
      { afterSeq: -1 },
    ]) {
      await expect(timesOf(config)).rejects.toMatchObject(meshError('invalid_argument'));
    }
  });

  test('reads events after a seq', async () => {
    expect(await read({})).toEqual(times.map((time, at) => [at + 1, time]));
    expect(await read({ afterSeq: 3 })).toEqual([
      [4, 250],
      [5, 400],
    ]);
    expect(await read({ afterSeq: 1, limit: 2 })).toEqual([
      [2, 200],
      [3, 300],
    ]);
    expect(await read({ afterSeq: 5 })).toEqual([]);
    expect(await read({ afterSeq: 500 })).toEqual([]);
    expect(await read({ limit: 0 })).toEqual([]);
    await expect(read({ afterSeq: -1 })).rejects.toMatchObject(meshError('invalid_argument'));
    await expect(read({ limit: 0.5 })).rejects.toMatchObject(meshError('invalid_argument'));
  });

  test('reads events up to a number of characters, and at least one', async () => {
    const within = async (maxChars: number, range: { afterSeq?: number; limit?: number } = {}) =>
      (await service().log.readEvents({ ...ref, ...range, maxChars })).map(({ seq, event }) => [
        seq,
        event.timestamp,
      ]);
    const all = times.map((timestamp, at) => [at + 1, timestamp]);
    const [first] = await service().log.readEvents({ ...ref, limit: 1, maxChars: 1 });
    expect(await within(1)).toEqual(all.slice(0, 1));
    expect(await within(1, { afterSeq: 2 })).toEqual(all.slice(2, 3));
    expect(await within(2.5 * (first?.chars ?? 0))).toEqual(all.slice(0, 2));
    expect(await within(1_000_000)).toEqual(all);
    expect(await within(1_000_000, { afterSeq: 1, limit: 2 })).toEqual(all.slice(1, 3));
    expect(await within(1_000_000, { afterSeq: 5 })).toEqual([]);
    const session = (await service().getSession(ref)) ?? expect.fail();
    const content = { role: 'model', parts: [{ text: 'x'.repeat(5_000) }] };
    await service().appendEvent({ session, event: eventOf({ content }) });
    const [large] = await service().log.readEvents({ ...ref, afterSeq: 5, maxChars: 1 });
    expect(large?.chars).toBeGreaterThan(5_000);
    expect(large?.chars).toBeLessThan(6_000);
  });

  test('reads no events of an unknown session', async () => {
    expect(await service().log.readEvents({ ...ref, sessionId: 'never' })).toEqual([]);
  });

  test('reads at most 1,000 events by default', async () => {
    const session = await service().getSession(ref);
    const append = () => service().appendEvent({ session: session ?? expect.fail(), event: eventOf() });
    await Promise.all(Array.from({ length: 1_000 }, append));
    expect(await read({})).toHaveLength(1_000);
    expect((await service().getSession(ref))?.events).toHaveLength(1_005);
  });
}
