import { setTimeout as delay } from 'node:timers/promises';
import { type Context, FunctionTool } from '@agentmesh/agent';
import { header, MeshError, toolResultSchema } from '@agentmesh/protocol';
import { intercept, until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { type ServeToolOptions, serveTool } from '../serve/serve-tool.ts';
import { keyOf } from './call-key.ts';

const context = { app: 'app', user: 'u', session: 's', invocationId: 'e-1', agent: 'a', state: {} };

/** Makes a mesh with a tool whose effects are counted, and a program that calls the tool. */
async function workplace(finish: (context: Context) => Promise<unknown>, options: ServeToolOptions = {}) {
  const world = memoryMesh();
  const effects: string[] = [];
  const { bus, subjects } = await world.connect('client');
  return {
    ...world,
    effects,
    bus,
    subjects,
    async serve() {
      const mesh = await world.connect('tool_pay');
      const tool = new FunctionTool({
        name: 'pay',
        description: 'pays',
        execute: async (_args, about) => {
          effects.push(mesh.bus.replica);
          return about && (await finish(about));
        },
      });
      return { mesh, ...(await serveTool(mesh, tool, { leaseMs: 60, ...options })) };
    },
    /** Takes the store away from a replica. */
    cutOff({ bus: { replica } }: Mesh, isAway: () => boolean) {
      intercept(world.callResults, 'take', (take) => async (...args) => {
        if (isAway() && args[2].startsWith(replica)) return await away();
        return await take(...args);
      });
    },
    async call(callId = 'c', headers: Record<string, string> = {}) {
      const frames = await Array.fromAsync(
        bus.request(subjects.toolCall('pay'), { callId, args: {}, context }, { headers }),
      );
      const last = frames.at(-1);
      if (last?.type !== 'result') throw new Error(`the last frame is ${JSON.stringify(last)}`);
      return toolResultSchema.parse(last.data);
    },
  };
}

const away = () => Promise.reject(new MeshError('unavailable', 'redis is away'));

function untilAborted({ abortSignal }: Context): Promise<never> {
  return new Promise((_, reject) =>
    abortSignal?.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
  );
}

describe('a call whose result cannot be stored', () => {
  it('is not carried out again: its result stays in the process until it is stored', async () => {
    const place = await workplace(async () => ({ paid: true }));
    await place.serve();
    let isAway = true;
    let puts = 0;
    let releases = 0;
    intercept(place.callResults, 'put', (put) => async (...args) => {
      puts += 1;
      return isAway ? await away() : await put(...args);
    });
    intercept(place.callResults, 'release', (release) => async (...args) => {
      releases += 1;
      await release(...args);
    });
    const calls = [place.call(), place.call()];
    await until(() => puts > 2);
    calls.push(place.call());
    isAway = false;
    for (const result of await Promise.all(calls)) expect(result.response).toEqual({ paid: true });
    expect(place.effects).toHaveLength(1);
    expect(releases).toBe(0);
  });

  it('keeps a replica from holding more than twice as many calls as it works on', async () => {
    const place = await workplace(async () => ({ paid: true }), { maxConcurrency: 1 });
    await place.serve();
    intercept(place.callResults, 'put', () => away);
    const errorOf = (callId: string, ms: number) =>
      place.call(callId, { [header.deadline]: String(Date.now() + ms) }).catch((error: MeshError) => error);
    // The callers give up, so their places are free while their results are not stored.
    for (const callId of ['c1', 'c2'])
      await expect.poll(() => errorOf(callId, 50)).toMatchObject({ code: 'deadline_exceeded' });
    const full = { code: 'resource_exhausted', message: expect.stringContaining('holds 2 calls of pay') };
    await expect.poll(() => errorOf('c3', 5_000)).toMatchObject(full);
    expect(place.effects).toHaveLength(2);
  });
});

describe('a call while the store is away', () => {
  it('is not carried out before its lease can be read', async () => {
    const place = await workplace(async () => ({ paid: true }));
    await place.serve();
    let isAway = true;
    let takes = 0;
    intercept(place.callResults, 'take', (take) => async (...args) => {
      takes += 1;
      return isAway ? await away() : await take(...args);
    });
    const call = place.call();
    await until(() => takes > 2);
    expect(place.effects).toEqual([]);
    isAway = false;
    expect((await call).response).toEqual({ paid: true });
  });
});

describe('a call whose lease has lapsed', () => {
  it('stays with a process that lives, and passes to another when the process is gone', async () => {
    const gate = Promise.withResolvers<unknown>();
    const place = await workplace(() => gate.promise);
    const first = await place.serve();
    let isAway = false;
    place.cutOff(first.mesh, () => isAway);
    const lost = place.call();
    lost.catch(() => {});
    await until(() => place.effects.length === 1);
    isAway = true;
    const second = await place.serve();
    let asked = 0;
    intercept(second.mesh.bus, 'isGone', (isGone) => async (...args) => {
      asked += 1;
      return await isGone(...args);
    });
    // One of these calls comes to the second replica.
    const repeats = Array.from({ length: 20 }, () => place.call());
    for (const repeat of repeats) repeat.catch(() => {});
    await until(() => asked > 0);
    expect(place.effects).toHaveLength(1);
    place.hub.kill(first.mesh.bus);
    await until(() => place.effects.length === 2);
    gate.resolve({ paid: true });
    expect((await place.call()).response).toEqual({ paid: true });
    expect(place.effects).toEqual([first.mesh.bus.replica, second.mesh.bus.replica]);
  });

  it('passes to another when its process lives and is not at the call: a failover lost its end', async () => {
    const place = await workplace(async () => ({ paid: true }));
    const first = await place.serve();
    expect((await place.call()).response).toEqual({ paid: true });
    const key = keyOf({ callId: 'c', args: {}, answers: 0, context }, 'c');
    await place.callResults.forget('pay', key);
    await place.callResults.take('pay', key, `${first.mesh.bus.replica}/of-before`, 1);
    await first.stop();
    const second = await place.serve();
    expect((await place.call()).response).toEqual({ paid: true });
    expect(place.effects).toEqual([first.mesh.bus.replica, second.mesh.bus.replica]);
  });

  it('stays where it is while NATS cannot tell whether the process is gone', async () => {
    const place = await workplace(async () => ({ paid: true }));
    const { mesh } = await place.serve();
    await place.callResults.take('pay', JSON.stringify(['app', 'u', 's', 'e-1', 'c']), 'tool_pay-1-0/x', 1);
    let asked = 0;
    let isAway = true;
    intercept(mesh.bus, 'isGone', (isGone) => async (...args) => {
      asked += 1;
      return isAway ? await away() : await isGone(...args);
    });
    const call = place.call();
    await until(() => asked > 1);
    expect(place.effects).toEqual([]);
    isAway = false;
    await call;
    expect(place.effects).toHaveLength(1);
  });
});

describe('a process without NATS', () => {
  it('begins no call and leaves it to another replica', async () => {
    const place = await workplace(async () => ({ paid: true }));
    const cut = await place.serve();
    let taken = 0;
    intercept(place.callResults, 'release', (release) => async (...args) => {
      taken += 1;
      await release(...args);
    });
    cut.mesh.bus.status = () => ({ connected: false });
    const call = place.call();
    await until(() => taken > 0);
    expect(place.effects).toEqual([]);
    const other = await place.serve();
    await cut.stop({ graceMs: 0 });
    await expect(call).rejects.toMatchObject({ code: 'unavailable' });
    await place.call();
    expect(place.effects).toEqual([other.mesh.bus.replica]);
  });
});

describe('a call that is stopped', () => {
  it('by its invocation stays cancelled: no repeat carries it out', async () => {
    const place = await workplace(untilAborted);
    await place.serve();
    const call = place.call();
    await until(() => place.effects.length === 1);
    await place.bus.publish(place.subjects.invocationCancel('e-1', 'client'), { reason: 'enough' });
    const cancelled = { failed: { code: 'cancelled', message: 'enough' } };
    expect(await call).toMatchObject(cancelled);
    await place.serve();
    for (let n = 0; n < 5; n += 1) expect(await place.call()).toMatchObject(cancelled);
    expect(place.effects).toHaveLength(1);
  });

  it('while its process was gone is not begun by another', async () => {
    const place = await workplace(untilAborted);
    const first = await place.serve();
    place.call().catch(() => {});
    await until(() => place.effects.length === 1);
    const { get } = place.sessions.invocations;
    place.sessions.invocations.get = async (ref) => ({
      ...(await get.call(place.sessions.invocations, ref)),
      cancelled: 'enough',
    });
    place.cutOff(first.mesh, () => true);
    place.hub.kill(first.mesh.bus);
    await place.serve();
    expect(await place.call()).toMatchObject({ failed: { code: 'cancelled', message: 'enough' } });
    expect(place.effects).toHaveLength(1);
  });

  it('by its deadline stays stopped', async () => {
    const place = await workplace(untilAborted);
    await place.serve();
    await expect(place.call('c', { [header.deadline]: String(Date.now() + 100) })).rejects.toMatchObject({
      code: 'deadline_exceeded',
    });
    expect(await place.call()).toMatchObject({ failed: { code: 'deadline_exceeded' } });
    expect(place.effects).toHaveLength(1);
  });

  it('by the stop of its process is carried out by another replica', async () => {
    let isFirst = true;
    const place = await workplace(async (about) => {
      if (!isFirst) return { paid: true };
      isFirst = false;
      return await untilAborted(about);
    });
    const first = await place.serve();
    const call = place.call();
    await until(() => place.effects.length === 1);
    await place.serve();
    await Promise.all([
      first.stop({ graceMs: 0 }),
      expect(call).rejects.toMatchObject({ code: 'unavailable' }),
    ]);
    expect((await place.call()).response).toEqual({ paid: true });
    expect(place.effects).toHaveLength(2);
  });
});

describe('a call that is handed back', () => {
  it('is not taken again by a renewal that was on its way', async () => {
    const place = await workplace(untilAborted);
    const first = await place.serve();
    const call = place.call();
    call.catch(() => {});
    await until(() => place.effects.length === 1);
    let onTheWay = 0;
    intercept(place.callResults, 'take', (take) => async (...args) => {
      onTheWay += 1;
      await delay(150);
      return await take(...args).finally(() => {
        onTheWay -= 1;
      });
    });
    await until(() => onTheWay > 0);
    await first.stop({ graceMs: 0 });
    await until(() => onTheWay === 0);
    const key = JSON.stringify(['app', 'u', 's', 'e-1', 'c']);
    expect(await place.callResults.take('pay', key, 'other', 1)).toEqual({ state: 'taken' });
  });
});

describe('a stopping process', () => {
  it.each([
    ['whose caller waits', 60_000],
    ['whose deadline has passed meanwhile', 200],
  ])('still stores the result of a call %s', async (_who, untilDeadlineMs) => {
    const place = await workplace(async () => ({ paid: true }));
    const first = await place.serve();
    let puts = 0;
    intercept(place.callResults, 'put', (put) => async (...args) => {
      puts += 1;
      return puts < 6 ? await away() : await put(...args);
    });
    const call = place.call('c', { [header.deadline]: String(Date.now() + untilDeadlineMs) });
    call.catch(() => {});
    await until(() => puts === 3);
    await first.stop({ graceMs: 5_000 });
    expect(puts).toBe(6);
    await place.serve();
    expect((await place.call()).response).toEqual({ paid: true });
    expect(place.effects).toHaveLength(1);
  });
});
