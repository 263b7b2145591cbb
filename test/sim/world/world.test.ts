import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { newLife, runAs } from './life.ts';
import { install, within } from './patches.ts';
import { World } from './world.ts';

install();

it('runs all microtasks of an event before the next event', async () => {
  const world = new World('1');
  const seen: string[] = [];
  const deep = async (name: string) => {
    for (let n = 0; n < 50; n += 1) await null;
    process.nextTick(() => seen.push(`${name} tick`));
    await null;
    seen.push(name);
  };
  await within(world, async () => {
    world.inOrder(1, () => void deep('first'));
    world.inOrder(1, () => void deep('second'));
    await world.run(() => false, 10);
  });
  expect(seen).toEqual(['first', 'first tick', 'second', 'second tick']);
});

it('has its own time, and gives the real one back', async () => {
  const before = Date.now();
  const world = new World('1');
  let lasted = 0;
  await within(world, async () => {
    world.at(0, () => {
      const from = Date.now();
      void delay(3_600_000).then(() => {
        lasted = Date.now() - from;
      });
    });
    await world.run(() => lasted > 0, 7_200_000);
  });
  expect(lasted).toBe(3_600_000);
  expect(Date.now() - before).toBeLessThan(60_000);
});

it('draws the same ids for a seed, whatever another process draws', async () => {
  const ids = async (others: number) => {
    const world = new World('1');
    return await within(world, async () => {
      for (let n = 0; n < others; n += 1) runAs(newLife('other/1', 1), () => randomUUID());
      return runAs(newLife('one/1', 1), () => [randomUUID(), String(Math.random())]);
    });
  };
  expect(await ids(3)).toEqual(await ids(0));
});

it('fires no timer of a dead process, and those of a stopped one when it goes on', async () => {
  const world = new World('1');
  const [dead, stopped] = [newLife('dead/1', 1), newLife('stopped/1', 1)];
  const fired: [string, number][] = [];
  await within(world, async () => {
    for (const life of [dead, stopped])
      runAs(life, () => setTimeout(() => fired.push([life.place, world.time]), 10));
    dead.dead = true;
    stopped.pausedUntil = 100;
    await world.run(() => false, 1_000);
  });
  expect(fired).toEqual([['stopped/1', 100]]);
});

it('aborts a wait of virtual time', async () => {
  const world = new World('1');
  let error: unknown;
  await within(world, async () => {
    world.at(0, () => {
      void delay(10_000, undefined, { signal: AbortSignal.timeout(5) }).catch((reason: unknown) => {
        error = reason;
      });
    });
    await world.run(() => error !== undefined, 100);
  });
  expect(error).toMatchObject({ code: 'ABORT_ERR' });
  expect(world.time).toBe(5);
});
