import { type Server, seededRandom, startRedis } from '@agentmesh/testing';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allScripts, ensureFunctions } from '../../../libs/store/src/functions.ts';
import { randomCommand } from './random-command.fixture.ts';
import { randomScriptCall } from './random-script-call.fixture.ts';
import { scriptNameOf } from './script-names.ts';
import { storeSuites } from './store-suites.fixture.ts';
import { orderedRedis, startTwin, type Twin } from './twin.fixture.ts';

let server: Server;
let real: Redis;
beforeAll(async () => {
  server = await startRedis({ extraArgs: orderedRedis });
  real = new Redis(server.url, { protocol: 2 });
});
afterAll(async () => {
  real.disconnect();
  await server.stop();
});

/** Starts a twin on an empty server, with all functions. */
async function freshTwin(): Promise<Twin> {
  await real.flushall();
  await real.function('FLUSH');
  const twin = startTwin(real);
  await ensureFunctions(twin.connection);
  return twin;
}

describe('a real Redis replies the same as the small one', () => {
  let twin: Twin;
  beforeAll(async () => {
    twin = await freshTwin();
  });
  storeSuites(() => twin.connection);

  it('and has the same keys in the end', () => twin.compareKeys());
});

it.each(casesOfTier([1, 2, 3, 4]))('to random commands: seed %i', async (seed) => {
  const twin = await freshTwin();
  const random = seededRandom(seed);
  for (let turn = 0; turn < 1_500; turn += 1) {
    await twin.call(...randomCommand(random));
    if (turn % 20 === 0) await twin.compareKeys();
  }
  await twin.compareKeys();
});

it.each(casesOfTier([1, 2, 3, 4]))('to random calls of all scripts: seed %i', async (seed) => {
  const twin = await freshTwin();
  const random = seededRandom(seed);
  for (let turn = 0; turn < 3_000; turn += 1) {
    await twin.call(...randomScriptCall(random));
    if (turn % 100 === 0) await twin.compareKeys();
  }
  await twin.compareKeys();
  const names = allScripts.map(({ name }) => scriptNameOf(name));
  expect(names.filter((name) => !twin.used.has(name))).toEqual([]);
});
