import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createEvent, type Session } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { openAuthenticators } from '@agentmesh/gateway/access';
import { gatewayConfig } from '@agentmesh/gateway/config';
import { buildServer } from '@agentmesh/gateway/server';
import { type ConnectedMesh, connectMesh } from '@agentmesh/mesh';
import { createLogger, readConfig } from '@agentmesh/service';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comeBack, framesOf } from '../sse-client.ts';

let mesh: LocalMesh;
let connected: ConnectedMesh;
beforeAll(async () => {
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  const { user, pass, credsFile } = mesh.login('gateway');
  connected = await connectMesh({
    ...{
      service: 'gateway',
      user,
      password: pass,
      credsFile,
      natsUrl: mesh.natsUrl,
      redisUrl: mesh.redisUrl,
    },
    log: createLogger({ service: 'gateway', replica: 'test', level: 'silent' }),
  });
});
afterAll(async () => {
  await connected?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
});

/** Starts a gateway in this process, and counts its subscriptions and connections. */
async function startGateway({ unreadMs = 30_000, requestTimeoutMs = 60_000 } = {}) {
  const open = new Set<Socket>();
  let listening = 0;
  const bus: typeof connected.bus = {
    ...connected.bus,
    directory: connected.bus.directory,
    async subscribe(...args) {
      const started = await connected.bus.subscribe(...args);
      listening += 1;
      let stopped: Promise<void> | undefined;
      const stop = async () => {
        await started.stop();
        listening -= 1;
      };
      return { stop: () => (stopped ??= stop()) };
    },
  };
  const stopping = new AbortController();
  const server = buildServer(
    {
      mesh: { ...connected, bus },
      config: {
        runTimeoutMs: 600_000,
        unreadMs,
        whenAbsent: 'reject',
        uploadLimit: 1_000_000,
      },
      log: connected.log as Parameters<typeof buildServer>[0]['log'],
      stopping: stopping.signal,
    },
    {
      bodyLimit: 1_000_000,
      requestTimeoutMs,
      httpHost: '127.0.0.1',
      allowedHosts: undefined,
      authenticators: openAuthenticators(readConfig(gatewayConfig, {}), connected),
    },
  );
  server.server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  return {
    open,
    port,
    url: `http://127.0.0.1:${port}`,
    stopping,
    listening: () => listening,
    [Symbol.asyncDispose]: async () => {
      server.server.closeAllConnections();
      await server.close();
    },
  };
}

const invocationId = 'e-11111111-2222-3333-4444-555555555555';

/** Starts a session with an invocation whose events the test commits. */
async function startSession() {
  const session = await connected.sessions.createSession({ appName: 'stock_app', userId: 'u1' });
  const ref = { appName: 'stock_app', userId: 'u1', sessionId: session.id, invocationId };
  // No replica looks after the run that the test plays.
  await connected.sessions.leases.take(ref, { run: '{}', whenBusy: 'reject', leaseMs: 600_000 });
  const commit = async (author: string, text: string, id = invocationId) => {
    const event = createEvent({ invocationId: id, author, content: { parts: [{ text }] } });
    await connected.sessions.appendEvent({ session, event });
  };
  await commit('user', 'hi');
  const path = `/apps/stock_app/users/u1/sessions/${session.id}`;
  return { session, commit, path, run: `${path}/invocations/${invocationId}` };
}

const endRun = ({ id, appName, userId }: Session) =>
  connected.sessions.invocations.end(
    { appName, userId, sessionId: id, invocationId },
    { status: 'completed' },
  );

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** Asks for a stream without reading it; `read` returns the bytes that have arrived. */
async function askWithoutReading(port: number, path: string) {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const read = async () => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    // The gateway cuts the connection, so an error is expected.
    socket.on('error', () => {});
    const closed = once(socket, 'close').catch(() => {});
    socket.resume();
    await closed;
    return Buffer.concat(chunks).toString();
  };
  return { read };
}

describe('a stream of the gateway', () => {
  it('leaves no subscription and no timer behind when its client goes away', async () => {
    await using gateway = await startGateway();
    const { run, commit } = await startSession();
    await commit('stock_agent', 'one');
    const before = timers();
    const left = new AbortController();
    const clients = Array.from({ length: 20 }, async () => {
      const frames = framesOf(await fetch(`${gateway.url}${run}/events`, { signal: left.signal }));
      await frames.next();
      await frames.next();
    });
    await until(() => gateway.listening() === 20, { what: 'all to be followed' });
    left.abort();
    await Promise.allSettled(clients);
    await until(() => gateway.listening() === 0 && gateway.open.size === 0, { what: 'all to be forgotten' });
    await until(() => timers() <= before, { what: 'the timers to be gone' });
  });

  it('disconnects a client that does not read, holds little data for it, and sends the rest when it returns', async () => {
    await using gateway = await startGateway({ unreadMs: 500 });
    const { session, run, commit } = await startSession();
    const count = 300;
    for (let at = 0; at < count; at += 1) await commit('stock_agent', `${at} ${'x'.repeat(100_000)}`);
    const { read } = await askWithoutReading(gateway.port, run);
    let held = 0;
    await until(
      () => {
        for (const socket of gateway.open) held = Math.max(held, socket.writableLength);
        return gateway.listening() === 1;
      },
      { what: 'the stream to begin' },
    );
    await until(
      () => {
        for (const socket of gateway.open) held = Math.max(held, socket.writableLength);
        return gateway.open.size === 0 && gateway.listening() === 0;
      },
      { what: 'the client to be let go' },
    );
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThan(1_000_000);
    const got = [...(await read()).matchAll(/^id: (\d+)\ndata: .*\n\n/gm)].map(([, id]) => Number(id));
    expect(got.length).toBeLessThan(count);
    await endRun(session);
    const rest = await Array.fromAsync(framesOf(await comeBack(gateway.url, run, got.at(-1))));
    expect([...got, ...rest.map(({ id }) => id)]).toEqual(Array.from({ length: count }, (_, at) => at + 2));
  });

  it('does not start for a body that comes too slowly', async () => {
    await using gateway = await startGateway({ requestTimeoutMs: 1_000 });
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    let answer = '';
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    socket.write('POST /run_sse HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n');
    socket.write('content-length: 1000\r\n\r\n{');
    const drip = setInterval(() => socket.write(' '), 200);
    await once(socket, 'close').finally(() => clearInterval(drip));
    expect(answer).toMatch(/^HTTP\/1.1 408 .*MESH_REQUEST_TIMEOUT_MS/s);
  });

  it('does not delay the stop of the gateway when nobody reads it', async () => {
    await using gateway = await startGateway();
    const { run, commit } = await startSession();
    for (let at = 0; at < 200; at += 1) await commit('stock_agent', `${at} ${'x'.repeat(100_000)}`);
    await askWithoutReading(gateway.port, run);
    await until(() => [...gateway.open].some(({ writableLength }) => writableLength > 0), {
      what: 'the stream to be stuck',
    });
    gateway.stopping.abort();
    await until(() => gateway.open.size === 0 && gateway.listening() === 0, { timeoutMs: 5_000 });
  });
});

describe('a long log', () => {
  it('is returned in pages, and completely to a client that returns', async () => {
    await using gateway = await startGateway();
    const { session, path, run, commit } = await startSession();
    const count = 1_234;
    // Every third event belongs to another run.
    const isOurs = (seq: number) => seq > 1 && seq % 3 !== 0;
    for (let seq = 2; seq <= count; seq += 1) {
      await commit('stock_agent', String(seq), isOurs(seq) ? invocationId : 'e-other');
    }
    const seqs: number[] = [];
    for (let page = -1; page !== 0; ) {
      const answer = await fetch(`${gateway.url}${path}/events?after=${seqs.at(-1) ?? 0}&limit=500`);
      const { events, lastSeq } = (await answer.json()) as { events: { seq: number }[]; lastSeq: number };
      expect(lastSeq).toBe(count);
      seqs.push(...events.map(({ seq }) => seq));
      page = events.length;
    }
    expect(seqs).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    await endRun(session);
    const frames = await Array.fromAsync(framesOf(await comeBack(gateway.url, run)));
    expect(frames.map(({ id }) => id)).toEqual(seqs.filter(isOurs));
    expect(frames.every(({ id, event }) => event.content?.parts?.[0]?.text === String(id))).toBe(true);
    const late = await Array.fromAsync(framesOf(await comeBack(gateway.url, run, 1_200)));
    expect(late.map(({ id }) => id)).toEqual(seqs.filter((seq) => isOurs(seq) && seq > 1_200));
  });
});
