import { randomUUID } from 'node:crypto';
import { createEvent, GeminiEmbedder, type Session } from '@agentmesh/agent';
import { keys as keysOf } from '@agentmesh/protocol';
import { type Server, startRedis, startScriptedGemini } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectRedis } from '../connection/redis-connection.ts';
import { connectRedisStore, type MemoryOptions } from '../redis-store.ts';
import { RedisMemoryService } from './redis-memory-service.ts';

let server: Server;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const owner = { appName: 'shop', userId: 'ann' };

async function open(prefix: string = randomUUID(), memory: MemoryOptions = {}) {
  const store = await connectRedisStore({ url: server.url, prefix, memory });
  onTestFinished(async () => await store[Symbol.asyncDispose]());
  return { prefix, memory: store.memory, keys: keysOf(prefix).memory(owner.appName, owner.userId) };
}

type Opened = Awaited<ReturnType<typeof open>>;

function sessionOf(id: string, ...texts: string[]): Session {
  const events = texts.map((text, n) =>
    createEvent({ id: `${id}-${n}`, author: 'user', content: { role: 'user', parts: [{ text }] } }),
  );
  return { id, ...owner, state: {}, seq: events.length, lastUpdateTime: 0, events };
}

async function find({ memory }: Pick<Opened, 'memory'>, query: string): Promise<(string | undefined)[]> {
  const { memories } = await memory.searchMemory({ ...owner, query });
  return memories.map(({ content }) => content.parts?.[0]?.text);
}

async function keysLeft(prefix: string): Promise<string[]> {
  return await admin.keys(`${prefix}:*`);
}

const texts = Array.from({ length: 180 }, (_, n) => `tea number n${n}`);

describe('a process that dies', () => {
  /** Connects to the same place, for a process whose connection fails for ever at its nth script. */
  async function dying(prefix: string, atScript: number) {
    const connection = await connectRedis({ url: server.url });
    onTestFinished(async () => await connection[Symbol.asyncDispose]());
    let left = atScript;
    return new RedisMemoryService({
      keys: keysOf(prefix),
      connection: {
        ...connection,
        script: async (script, keys, args) => {
          left -= 1;
          if (left < 0) throw new Error('killed');
          return await connection.script(script, keys, args);
        },
      },
    });
  }

  test.each([0, 1, 2, 3])(
    'after %i steps of adding leaves whole memories; adding again finishes',
    async (steps) => {
      const place = await open();
      const session = sessionOf('s', ...texts);
      const dead = await dying(place.prefix, steps);
      await expect(dead.addSessionToMemory(session)).rejects.toThrow('killed');
      const found = (await place.memory.listMemories({ ...owner, limit: 1_000 })).memories;
      expect(found).toHaveLength(steps * 50);
      if (steps > 0) expect(await find(place, 'n49')).toEqual(['tea number n49']);
      await place.memory.addSessionToMemory(session);
      const { memories } = await place.memory.listMemories({ ...owner, limit: 1_000 });
      expect(memories.map(({ content }) => content.parts?.[0]?.text)).toEqual(texts);
      expect(await find(place, 'n179')).toEqual(['tea number n179']);
    },
  );

  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    'after %i steps of replacing leaves no mixture after the session is added again',
    async (steps) => {
      const place = await open();
      await place.memory.addSessionToMemory(sessionOf('s', ...texts));
      const other = sessionOf('s', ...texts.map((text) => text.replace('tea', 'coffee')));
      for (const event of other.events) event.id = `new-${event.id}`;
      const dead = await dying(place.prefix, steps);
      await expect(dead.addSessionToMemory(other)).rejects.toThrow('killed');
      await place.memory.addSessionToMemory(other);
      const { memories } = await place.memory.listMemories({ ...owner, limit: 1_000 });
      expect(memories.map(({ id }) => id)).toEqual(other.events.map(({ id }) => id));
      expect(await find(place, 'tea')).toEqual([]);
      expect(await find(place, 'coffee n7')).toEqual(expect.arrayContaining(['coffee number n7']));
      await place.memory.deleteMemories(owner);
      expect(await keysLeft(place.prefix)).toEqual([]);
    },
  );

  test('during a deletion leaves the rest whole; a second deletion finishes and leaves no key', async () => {
    const place = await open();
    await place.memory.addSessionToMemory(sessionOf('s', ...texts));
    const dead = await dying(place.prefix, 2);
    await expect(dead.deleteMemories(owner)).rejects.toThrow('killed');
    expect(await find(place, 'n10')).toEqual([]);
    expect(await find(place, 'n150')).toEqual(['tea number n150']);
    expect(await place.memory.deleteMemories(owner)).toBe(80);
    expect(await keysLeft(place.prefix)).toEqual([]);
  });
});

test('a session that has grown by one event costs no more when its past is long', async () => {
  const place = await open();
  const { meta } = place.keys;
  const sent = async (): Promise<number> =>
    Number(/total_net_input_bytes:(\d+)/.exec(await admin.info('stats'))?.[1]);
  const session = sessionOf('s', ...Array.from({ length: 2_001 }, (_, n) => `tea number n${n}`));
  const upTo = (length: number) => ({ ...session, seq: length, events: session.events.slice(0, length) });
  await place.memory.addSessionToMemory(upTo(2_000));
  const before = await sent();
  await place.memory.addSessionToMemory(session);
  expect((await sent()) - before).toBeLessThan(3_000);
  expect(await admin.hget(meta, 'last')).toBe('2001');
});

test('two processes that add and replace a session at once leave the version of one, each memory once', async () => {
  const [one, two] = await Promise.all([open('twin'), open('twin')]);
  const first = sessionOf('s', ...texts);
  const second = sessionOf('s', ...texts.slice(0, 120));
  for (const event of second.events) event.id = `second-${event.id}`;
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([one.memory.addSessionToMemory(first), two.memory.addSessionToMemory(second)]);
    await two.memory.addSessionToMemory(second);
    const { memories } = await one.memory.listMemories({ ...owner, limit: 1_000 });
    expect(memories.map(({ id }) => id).sort()).toEqual(second.events.map(({ id }) => id).sort());
  }
});

test.each([0, 1, 2, 3, 4])(
  'a process that another one overtakes at its script %i starts again',
  async (atScript) => {
    const place = await open();
    const first = sessionOf('s', ...texts);
    const second = sessionOf('s', ...texts.slice(0, 120));
    for (const event of second.events) event.id = `second-${event.id}`;
    await place.memory.addSessionToMemory(second);
    const connection = await connectRedis({ url: server.url });
    onTestFinished(async () => await connection[Symbol.asyncDispose]());
    let scripts = 0;
    const slow = new RedisMemoryService({
      keys: keysOf(place.prefix),
      connection: {
        ...connection,
        async script(script, keys, args) {
          scripts += 1;
          if (scripts - 1 === atScript) {
            await place.memory.deleteMemories({ ...owner, sessionId: 's' });
            await place.memory.addSessionToMemory(second);
          }
          return await connection.script(script, keys, args);
        },
      },
    });
    await slow.addSessionToMemory(first);
    const { memories } = await place.memory.listMemories({ ...owner, limit: 1_000 });
    expect(memories.map(({ id }) => id).sort()).toEqual(first.events.map(({ id }) => id).sort());
  },
);

test('memories that are too old are not found, go with the next addition, and their keys expire', async () => {
  const place = await open(randomUUID(), { ttlMs: 60_000 });
  await place.memory.addSessionToMemory(sessionOf('s', 'old tea', 'new tea'));
  const old = (await admin.hget(place.keys.entries, '1')) ?? '';
  await admin.hset(place.keys.entries, '1', old.replace(/^\d+/, String(Date.now() - 61_000)));
  expect(await find(place, 'tea')).toEqual(['new tea']);
  await place.memory.addSessionToMemory(sessionOf('s2', 'green tea'));
  expect(await admin.hexists(place.keys.entries, '1')).toBe(0);
  const ttls = await Promise.all((await keysLeft(place.prefix)).map((key) => admin.pttl(key)));
  expect(ttls.length).toBeGreaterThan(5);
  for (const ttl of ttls) expect(ttl).toBeGreaterThan(30_000);
});

describe('by meaning', () => {
  async function embedding(embed: Parameters<typeof startScriptedGemini>[0]['embed'] = {}) {
    const model = await startScriptedGemini({ script: () => ({ text: '' }), embed });
    onTestFinished(() => model.close());
    const embedder = new GeminiEmbedder({ apiKey: 'k', baseUrl: model.url });
    const warnings: unknown[] = [];
    const options: MemoryOptions = { embedder, restMs: 0, onWarning: (error) => warnings.push(error) };
    return { model, warnings, options };
  }
  const meanings = [['beverage', 'tea', 'coffee', 'getränk']];

  test('finds memories without a word of the query, and puts memories that match both ways first', async () => {
    const { options, warnings } = await embedding({ meanings });
    const place = await open(randomUUID(), options);
    await place.memory.addSessionToMemory(
      sessionOf('s', 'coffee', 'tea', 'my beverage', 'a red car drove by'),
    );
    expect(await find(place, 'beverage')).toEqual(['my beverage', 'tea', 'coffee']);
    expect(await find(place, 'car')).toEqual(['a red car drove by']);
    expect(await find(place, 'quantum')).toEqual([]);
    expect(warnings).toEqual([]);
    expect(await admin.hstrlen(place.keys.vectors, '1')).toBe(256);
  });

  test('finds by words only while the model fails, with a warning, and by meaning later', async () => {
    let away = true;
    const { options, warnings } = await embedding({
      meanings,
      fail: () => (away ? { status: 403, message: 'away' } : undefined),
    });
    const place = await open(randomUUID(), options);
    await place.memory.addSessionToMemory(sessionOf('s', 'coffee', 'a red car'));
    expect(await find(place, 'coffee')).toEqual(['coffee']);
    expect(await find(place, 'beverage')).toEqual([]);
    expect(warnings.length).toBeGreaterThanOrEqual(3);
    away = false;
    expect(await find(place, 'beverage')).toEqual(['coffee']);
    expect(await admin.exists(place.keys.unembedded)).toBe(0);
  });

  test('is not asked again for some time after it failed', async () => {
    const { model, options, warnings } = await embedding({ fail: () => ({ status: 403, message: 'away' }) });
    const place = await open(randomUUID(), { ...options, restMs: 60_000 });
    await place.memory.addSessionToMemory(sessionOf('s', 'coffee'));
    for (let n = 0; n < 5; n += 1) expect(await find(place, 'coffee')).toEqual(['coffee']);
    expect(model.embedRequests).toHaveLength(1);
    expect(warnings).toHaveLength(1);
  });

  test('gives up only the texts that the model refuses', async () => {
    let refusesAll = true;
    const { options, warnings } = await embedding({
      meanings,
      fail: ({ texts }) =>
        refusesAll || texts.includes('poison') ? { status: 400, message: 'bad text' } : undefined,
    });
    const place = await open(randomUUID(), options);
    await place.memory.addSessionToMemory(sessionOf('s', 'coffee', 'poison', 'tea', 'a car'));
    expect(await admin.scard(place.keys.unembedded)).toBe(4);
    refusesAll = false;
    expect((await find(place, 'beverage')).sort()).toEqual(['coffee', 'tea']);
    expect(await admin.exists(place.keys.unembedded)).toBe(0);
    expect(await find(place, 'poison')).toEqual(['poison']);
    expect(warnings.map(String)).toContainEqual(expect.stringContaining('refuses 1 memories'));
  });

  test('embeds earlier memories, and all memories again when the vectors are of another kind', async () => {
    const plain = await open();
    await plain.memory.addSessionToMemory(sessionOf('s', 'coffee', 'a red car'));
    const { model, options } = await embedding({ meanings });
    const place = await open(plain.prefix, options);
    expect(await find(place, 'beverage')).toEqual(['coffee']);
    const embedder = new GeminiEmbedder({ apiKey: 'k', baseUrl: model.url, dimensions: 128 });
    const other = await open(plain.prefix, { ...options, embedder });
    expect(await find(other, 'beverage')).toEqual(['coffee']);
    expect(await admin.hstrlen(place.keys.vectors, '1')).toBe(128);
    await other.memory.deleteMemories({ ...owner, sessionId: 's' });
    expect(await admin.exists(place.keys.vectors)).toBe(0);
    await other.memory.deleteMemories(owner);
    expect(await keysLeft(plain.prefix)).toEqual([]);
  });
});
