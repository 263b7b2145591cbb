import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { appName, deltaOf, held, numberedRuns } from './kit.ts';

/** Tests of what a run with nothing before it and nothing behind it may leave out. */
export function newRuns(service: TheService): void {
  const { session, inv, run, create, queue, end, promote } = numberedRuns(service);

  test('a run that looks new takes nothing over', async () => {
    const one = await create();
    const bring = async (n: number, onlyNew: boolean) =>
      await service().leases.take(inv(n), {
        run: run(n),
        whenBusy: 'enqueue',
        delivery: { part: 'hop:0', message: `m${n}` },
        onlyNew,
      });
    expect(await bring(1, true)).toEqual(held({ token: 1, begun: 1 }));
    const before = await service().invocations.get(inv(1));
    expect(await bring(1, true)).toEqual({ state: 'begun' });
    expect(await service().invocations.get(inv(1))).toEqual(before);
    const event = deltaOf({ n: 1 }, { invocationId: 'inv-1' });
    await service().appendEvent({ session: one, event, token: 1 });
    // Another run waits as any other would, and is new when its turn comes.
    expect(await bring(2, true)).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await bring(1, false)).toEqual(held({ token: 2, begun: 1, seq: 1, attempt: 2 }));
    await end(1);
    expect(await bring(1, true)).toEqual({ state: 'begun' });
    expect(await promote()).toBe(run(2));
    expect(await bring(2, true)).toEqual(held({ token: 1, begun: 1, seq: 1 }));
  });

  test('the end tells whether a run is to be started', async () => {
    await create();
    await queue(1);
    await queue(2);
    expect(await end(1)).toMatchObject({ isIdle: false });
    await promote();
    await queue(2);
    expect(await end(2)).toMatchObject({ isIdle: true });
    expect(await end(1)).toMatchObject({ isIdle: true });
  });

  test('an idle session comes off the list of busy sessions, unless it was noted meanwhile', async () => {
    await create();
    const busy = () => service().leases.busySessions(appName, 10);
    const one = await queue(1);
    await end(1);
    const two = await queue(2);
    if (one.state !== 'held' || two.state !== 'held') throw new Error('the session is not free');
    await service().leases.noteIdle(session, one.mark);
    expect(await busy()).toEqual([session]);
    await end(2);
    await service().leases.noteIdle(session, two.mark);
    // A search that came before has moved it in the list, and takes it off the next time.
    await service().leases.nextRun(session);
    expect(await busy()).toEqual([]);
  });
}
