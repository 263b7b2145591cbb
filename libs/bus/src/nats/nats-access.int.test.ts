import { cardSchema, every, subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, WorkItem } from '../bus/bus.ts';
import { echo, expectCode, gather, resultOf } from '../conformance/expect.ts';
import { connectNats } from './connect-nats.ts';
import type { NatsOptions } from './nats-options.ts';
import { openNats } from './open-nats.ts';
import { provision } from './operator/provision.ts';

const names = subjects();
const done = async () => ({ done: true }) as const;

/**
 * The users of the server: a tool that may only answer, and an agent that may use its consumer but no other
 * part of JetStream's API.
 */
const configuration = `
authorization { users: [
  { user: admin, password: admin }
  { user: tool, password: tool, permissions: {
      publish: { allow: ["$KV.MESH_CARDS.tool.adder"] }
      subscribe: { allow: ["${names.toolCall('adder')} q", "_INBOX_tool.>", "$SRV.>"] }
      allow_responses: { max: 2000, expires: "15m" } } }
  { user: agent, password: agent, permissions: {
      publish: { allow: ["${names.toolCall(every)}", "${names.agentRun(every, every)}", "$SRV.PING.>",
        "$JS.API.CONSUMER.INFO.MESH_RUN.agent", "$JS.API.CONSUMER.MSG.NEXT.MESH_RUN.agent", "$JS.ACK.MESH_RUN.agent.>",
        "$JS.API.STREAM.INFO.KV_MESH_CARDS", "$JS.API.STREAM.MSG.GET.KV_MESH_CARDS"] }
      subscribe: { allow: ["_INBOX_agent.>", "${names.allCardNews}"] } } }
  { user: deaf, password: deaf, permissions: {
      publish: { allow: ["$JS.API.STREAM.INFO.KV_MESH_CARDS", "$JS.API.STREAM.MSG.GET.KV_MESH_CARDS"] }
      subscribe: { allow: ["_INBOX_deaf.>"] } } }
] }
`;

/** Holds back the answers to requests whose subject has a prefix. `held` resolves at the first of them. */
function holdAnswers(connection: NatsConnection, prefix: string) {
  const { promise: held, resolve: onHeld } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const request = connection.request.bind(connection);
  connection.request = async (subject, ...rest) => {
    const answer = await request(subject, ...rest);
    if (subject.startsWith(prefix)) {
      onHeld();
      await released;
    }
    return answer;
  };
  return { held, release };
}

describe('access to NATS', () => {
  const buses: Bus[] = [];
  const connect = async (options: NatsOptions) => {
    const bus = await connectNats(options);
    buses.push(bus);
    return bus;
  };
  afterEach(async () => {
    await Promise.all(buses.splice(0).map((bus) => bus[Symbol.asyncDispose]()));
  });

  it('refuses wrong credentials at once', async () => {
    await using server = await startNats({ configuration });
    const startedAt = performance.now();
    const wrong = { url: server.url, user: 'tool', pass: 'guess', service: 'tool' };
    await expectCode(connectNats(wrong), 'unauthenticated', /credentials/);
    await expectCode(connectNats({ url: server.url, service: 'tool' }), 'unauthenticated');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    const inUrl = server.url.replace('//', '//tool:to%6Fl@');
    expect((await connect({ url: inUrl, service: 'tool', cards: false })).status().connected).toBe(true);
  });

  it('names the address when no server answers', async () => {
    const url = 'nats://user:secret@127.0.0.1:1';
    const error: unknown = await connectNats({ url, service: 's', connectTimeoutMs: 300 }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/ nats:\/\/127\.0\.0\.1:1 /),
    });
    expect(String(error)).not.toContain('secret');
  });

  it('refuses forbidden subjects quickly and by name, and lets a service do its own work', async () => {
    await using server = await startNats({ configuration });
    const { url } = server;
    const admin = { url, user: 'admin', pass: 'admin' };
    await provision({ ...admin, agents: ['agent', 'other'] });
    const tool = await connect({ url, user: 'tool', pass: 'tool', service: 'tool', cards: false });
    const agent = await connect({ url, user: 'agent', pass: 'agent', service: 'agent' });

    const startedAt = performance.now();
    await expectCode(gather(tool.request(names.agentAsk('agent'), {})), 'permission_denied', /agent\.ask/);
    await expectCode(tool.isServed('agent'), 'permission_denied');
    await expectCode(tool.serve(names.toolCall('other'), echo), 'permission_denied', /listen on/);
    await expectCode(
      tool.subscribe('mesh.>', () => {}),
      'permission_denied',
    );
    await expectCode(tool.enqueue(names.agentRun('agent', 's'), 1, { messageId: 'm' }), 'permission_denied');
    const card = cardSchema.parse({ kind: 'agent', name: 'agent' });
    await expectCode(tool.announce(card), 'permission_denied');
    expect(performance.now() - startedAt).toBeLessThan(1_000);

    await tool.serve(names.toolCall('adder'), echo);
    expect(await resultOf(agent.request(names.toolCall('adder'), { a: 1 }))).toEqual({ a: 1 });
    const declaration = { name: 'adder' };
    await tool.announce(cardSchema.parse({ kind: 'tool', name: 'adder', declaration }));
    await expect.poll(() => agent.directory.get('tool', 'adder')).toBeDefined();
    expect(tool.directory.list('tool')).toEqual([]);

    const taken = Promise.withResolvers<WorkItem>();
    const handler = async (item: WorkItem) => {
      taken.resolve(item);
      return { done: true } as const;
    };
    const working = await agent.consumeRuns('agent', handler, { maxConcurrency: 2 });
    await agent.enqueue(names.agentRun('agent', 's'), 'go', { messageId: 'm' });
    expect((await taken.promise).json()).toBe('go');
    await working.stop({ graceMs: 0 });
  });

  it('reads and watches cards without a consumer, which a service may not make', async () => {
    await using server = await startNats({ configuration });
    const { url } = server;
    const admin = { url, user: 'admin', pass: 'admin' };
    await provision({ ...admin, agents: [] });
    const { bus: writer, connection } = await openNats({ ...admin, service: 'admin', cards: false });
    buses.push(writer);
    const bucket = await new Kvm(connection).open(names.cardBucket);
    const card = (name: string, version = '1.0.0') => cardSchema.parse({ kind: 'agent', name, version });
    // More cards than the bus reads at once.
    for (let n = 0; n < 70; n += 1) await writer.announce(card(`a${n}`));
    await bucket.delete('agent.a0');
    await bucket.put('agent.a1', 'broken');

    const problems: string[] = [];
    const onError = (error: unknown) => problems.push(String(error));
    const opened = await openNats({ url, user: 'agent', pass: 'agent', service: 'agent', onError });
    const { directory } = opened.bus;
    buses.push(opened.bus);
    expect(directory.list('agent')).toHaveLength(68);
    expect(problems).toEqual([expect.stringMatching(/not JSON/)]);

    await writer.announce(card('a1'));
    await writer.announce(card('a2', '2.0.0'));
    await bucket.put('agent.a2', 'broken');
    await bucket.put('agent.a2/no.card', 'broken');
    await expect(bucket.purge('agent.a3')).rejects.toThrow('rollup not permitted');
    await bucket.delete('agent.a3');
    await bucket.delete('agent.a4');
    await expect.poll(() => directory.get('agent', 'a4')).toBeUndefined();
    expect(directory.list('agent')).toHaveLength(67);
    expect(directory.get('agent', 'a2')?.version).toBe('2.0.0');

    // After a reconnect the bus reads the whole bucket again; a card that cannot be read keeps its older
    // value.
    expect(problems).toHaveLength(3);
    await opened.connection.reconnect();
    await expect.poll(() => problems.length).toBe(5);
    expect(directory.get('agent', 'a2')?.version).toBe('2.0.0');
    expect(directory.list('agent')).toHaveLength(67);

    // A change that comes during the read is newer than the value that was read.
    const { held, release } = holdAnswers(opened.connection, '$JS.API.STREAM.MSG.GET.');
    await opened.connection.reconnect();
    await held;
    await writer.announce(card('a10', '2.0.0'));
    await bucket.delete('agent.a11');
    await expect.poll(() => directory.list('agent')).toHaveLength(66);
    release();
    await expect.poll(() => problems.length).toBe(7);
    expect(directory.get('agent', 'a10')?.version).toBe('2.0.0');
    expect(directory.get('agent', 'a11')).toBeUndefined();

    const stream = `KV_${names.cardBucket}`;
    for (const verb of ['CREATE', 'DELETE', 'INFO']) {
      const asked = opened.connection.request(`$JS.API.CONSUMER.${verb}.${stream}.c`, '{}');
      await expect(asked).rejects.toThrow(/Permissions Violation/i);
    }
    expect((await connection.request(`$JS.API.CONSUMER.NAMES.${stream}`)).json()).toMatchObject({ total: 0 });
  });

  it('makes a bucket of cards anew that does not publish its changes, with its cards', async () => {
    await using server = await startNats({ configuration });
    const admin = { url: server.url, user: 'admin', pass: 'admin' };
    const { bus: writer, connection } = await openNats({ ...admin, service: 'admin', cards: false });
    buses.push(writer);
    const bucket = await new Kvm(connection).create(names.cardBucket, { history: 1 });
    const card = (name: string) => cardSchema.parse({ kind: 'agent', name });
    await writer.announce(card('early'));
    await bucket.delete('agent.gone');
    await provision({ ...admin, agents: [] });
    const { directory } = await connect({ ...admin, service: 'reader' });
    expect(directory.list('agent').map(({ name }) => name)).toEqual(['early']);
    await writer.announce(card('late'));
    await expect.poll(() => directory.get('agent', 'late')).toBeDefined();
    await provision({ ...admin, agents: [] });
    expect(directory.list('agent')).toHaveLength(2);
  });

  it('reports once that a service may not watch cards', async () => {
    await using server = await startNats({ configuration });
    const { url } = server;
    await provision({ url, user: 'admin', pass: 'admin', agents: [] });
    const problems: unknown[] = [];
    const onError = (error: unknown) => problems.push(error);
    const bus = await connect({ url, user: 'deaf', pass: 'deaf', service: 'deaf', onError });
    expect(bus.directory.list('agent')).toEqual([]);
    expect(problems).toEqual([expect.objectContaining({ code: 'permission_denied' })]);
  });

  it('names the missing provisioning', async () => {
    await using server = await startNats({ configuration });
    const { url } = server;
    const admin = { url, user: 'admin', pass: 'admin' };
    const bus = await connect({ ...admin, service: 'admin' });
    const hint = /run the provisioning/;
    expect(bus.directory.list('agent')).toEqual([]);
    await expectCode(
      bus.enqueue(names.agentRun('agent', 's'), 1, { messageId: 'm' }),
      'failed_precondition',
      hint,
    );
    const card = cardSchema.parse({ kind: 'agent', name: 'agent' });
    await expectCode(bus.announce(card), 'failed_precondition', hint);
    await expectCode(bus.consumeRuns('agent', done, { maxConcurrency: 1 }), 'failed_precondition', hint);

    await provision({ ...admin, agents: [] });
    const agent = await connect({ url, user: 'agent', pass: 'agent', service: 'agent' });
    await expectCode(agent.consumeRuns('agent', done, { maxConcurrency: 1 }), 'failed_precondition', hint);
    // A service with the right to make its consumer makes it.
    await (await bus.consumeRuns('agent', done, { maxConcurrency: 1 })).stop({ graceMs: 0 });
    await (await agent.consumeRuns('agent', done, { maxConcurrency: 1 })).stop({ graceMs: 0 });
    // The bus finds the bucket, which was made after it connected.
    await bus.announce(card);
    await expect.poll(() => bus.directory.get('agent', 'agent'), { timeout: 5_000 }).toEqual(card);
  });

  it('provisions again with other settings, and reports when JetStream is off', async () => {
    await using server = await startNats({ configuration });
    const admin = { url: server.url, user: 'admin', pass: 'admin' };
    await provision({ ...admin, agents: ['a'] });
    await provision({ ...admin, agents: ['a'] });
    await provision({ ...admin, agents: ['a', 'b'], ackWaitMs: 2_000, maxAgeMs: 60_000 });
    const denied = { url: server.url, user: 'tool', pass: 'tool', agents: [] };
    await expectCode(provision(denied), 'permission_denied');

    await using bare = await startNats({ jetstream: false });
    await expectCode(provision({ url: bare.url, agents: [] }), 'failed_precondition', /JetStream is off/);
    const bus = await connect({ url: bare.url, service: 's' });
    await expectCode(
      bus.consumeRuns('a', done, { maxConcurrency: 1 }),
      'failed_precondition',
      /JetStream is off/,
    );
  });
});
