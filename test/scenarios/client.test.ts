import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { MeshClient, type Run, type RunEvent, type SessionRef, textOf } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { agentManifest } from '@agentmesh/mesh';
import {
  latestFunctionResponses,
  type ScriptedGemini,
  spawnGuarded,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskApp } from '../browser/desk/src/agent.ts';
import { script as deskScript } from '../browser/desk/src/script.fixture.ts';
import { examplePages, examplesOf, withExamples } from '../example-page.ts';
import { startRoundRobin } from '../round-robin.ts';

const root = join(import.meta.dirname, '../..');
const readme = 'libs/client/README.md';
const folder = examplePages[readme];
const user = { app: 'stock_app', user: 'ann' };

let model: ScriptedGemini;
let mesh: LocalMesh;
/** The gate for which the last answer of the model waits. */
let gate = Promise.withResolvers<void>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: async (request) => {
      if (JSON.stringify(request).includes('Help in the office.')) return deskScript(request);
      if (latestFunctionResponses(request).length === 0)
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      await gate.promise;
      return { chunks: ['It ', 'stands ', 'high.'], chunkDelayMs: 20 };
    },
  });
  const desk = { manifest: agentManifest(deskApp), folder: 'test/browser/desk' };
  mesh = await launchMesh({
    services: [...samples.filter(({ manifest }) => manifest.name === 'stock_agent'), desk],
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
});
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Reads a run to its end. */
async function readAll(run: Run): Promise<RunEvent[]> {
  return await Array.fromAsync(run);
}

/** Expects that a program saw each event of the log once and in order, behind the message of the user. */
async function expectWhole(client: MeshClient, session: SessionRef, seen: readonly RunEvent[]) {
  const { events } = await client.events(session);
  const committed = seen.filter(({ seq }) => seq !== undefined).map(({ event, seq }) => ({ seq, event }));
  expect(committed).toEqual(events.slice(1));
  expect(committed.map(({ seq }) => seq)).toEqual([2, 3, 4]);
}

describe('runs', () => {
  it('go on at another gateway when theirs is killed, without a lost or doubled event', async () => {
    gate = Promise.withResolvers();
    const second = await mesh.start('gateway');
    const third = await mesh.start('gateway');
    const gateways = [second.address ?? '', third.address ?? ''];
    await using proxy = await startRoundRobin(gateways);
    const client = new MeshClient({ url: proxy.url });
    const states: string[] = [];
    const onConnection = (state: string) => void states.push(state);
    const sessions = await Promise.all(Array.from({ length: 8 }, () => client.createSession(user)));
    const runs = await Promise.all(sessions.map((session) => client.run(session, 'GOOG?', { onConnection })));
    const readings = runs.map(readAll);
    const ran = () => runs.every((run) => run.lastSeq === 3);
    await until(ran, { what: 'the events before the gate' });
    await third.kill();
    await until(() => states.includes('restored'), { what: 'a client that came back' });
    gate.resolve();
    const seen = await Promise.all(readings);
    for (const [at, session] of sessions.entries()) await expectWhole(client, session, seen[at] ?? []);
    // The gateway that died had some of the runs.
    expect(states.filter((state) => state === 'lost').length).toBeGreaterThan(0);
    expect(Math.min(...proxy.counts.values())).toBeGreaterThan(0);
  });

  it('are followed by another program from the last number on', async () => {
    gate = Promise.withResolvers();
    const client = new MeshClient({ url: mesh.gatewayUrl });
    const session = await client.createSession(user);
    const run = await client.run(session, 'GOOG?');
    for await (const { seq } of run) if (seq === 2) break;
    const state = await client.invocation(session, run.invocationId);
    expect(['waiting', 'running']).toContain(state.status);
    const other = new MeshClient({ url: mesh.gatewayUrl });
    const rest = readAll(other.follow(session, run.invocationId, { after: run.lastSeq }));
    gate.resolve();
    const numbered = (await rest).filter(({ seq }) => seq !== undefined);
    expect(numbered.map(({ seq, event }) => [seq, textOf(event)])).toEqual([
      [3, ''],
      [4, 'It stands high.'],
    ]);
  });

  it('show the pieces of an answer', async () => {
    gate.resolve();
    const client = new MeshClient({ url: mesh.gatewayUrl });
    const seen = await readAll(await client.run(await client.createSession(user), 'GOOG?'));
    const pieces = seen.filter(({ event }) => event.partial).map(({ event }) => textOf(event));
    expect(pieces.join('')).toContain('It stands high.');
  });
});

describe('errors', () => {
  it('have the code and the status of the gateway', async () => {
    const client = new MeshClient({ url: mesh.gatewayUrl });
    const session = await client.createSession({ ...user, state: { color: 'blue' } });
    expect((await client.getSession(session)).state).toMatchObject({ color: 'blue' });
    await expect(client.createSession(session)).rejects.toMatchObject({
      code: 'already_exists',
      status: 409,
    });
    const nobody = { ...session, app: 'no_app' };
    await expect(client.run(nobody, 'hello')).rejects.toMatchObject({
      ...{ code: 'not_found', status: 404, name: 'MeshClientError' },
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(await client.listSessions(user, { limit: 1 })).toMatchObject([{ id: session.session }]);
    await client.deleteSession(session);
    await expect(client.pending(session)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('say that nobody listens', async () => {
    const client = new MeshClient({ url: 'http://127.0.0.1:9' });
    await expect(client.run({ ...user, session: 's' }, 'hello')).rejects.toMatchObject({
      ...{ code: 'unavailable', status: undefined },
    });
  });
});

describe('the README', () => {
  it.each(examplesOf(readFileSync(join(root, readme), 'utf8')))('has the output of %s.ts', async (name) => {
    const child = spawnGuarded([process.execPath, join(folder, `${name}.ts`)], {
      cwd: root,
      env: { ...process.env, GATEWAY_URL: mesh.gatewayUrl },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (!child.stdout) throw new Error('no output');
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(code).toBe(0);
    const shown = output.replaceAll(/adk-[\w-]+/g, 'adk-…');
    await expect(shown).toMatchFileSnapshot(join(root, folder, `${name}.txt`));
  });

  it('has the examples', () => {
    const page = readFileSync(join(root, readme), 'utf8');
    expect(withExamples(page, folder)).toBe(page);
  });
});
