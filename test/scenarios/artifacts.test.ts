import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { App, type Event, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, provisionUser, toolManifest } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  latestUserText,
  type ScriptedGemini,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { isLongTier } from '@agentmesh/testing/tiers';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { lastText, restClient } from '../rest-client.ts';
import { archivist, copyFile, helper } from './artifacts/definitions.ts';

const folder = 'test/scenarios/artifacts';
const services: Sample[] = [
  {
    manifest: agentManifest(new App({ name: 'archive', rootAgent: archivist })),
    folder: `${folder}/archivist`,
  },
  { manifest: agentManifest(helper), folder: `${folder}/helper` },
  { manifest: toolManifest(copyFile), folder: `${folder}/tool` },
];
const mebibyte = 1024 * 1024;

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      if (latestFunctionResponses(request).length > 0) return { text: 'done' };
      const [verb, name = ''] = latestUserText(request).split(' ');
      if (verb === 'delegate') return { calls: [{ name: 'helper', args: { request: `copy ${name}` } }] };
      return verb === 'copy' ? { calls: [{ name: 'copy_file', args: { name } }] } : { text: 'ok' };
    },
  });
  mesh = await launchMesh({ services, env: { MODEL_URL: model.url } });
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const pathOf = (session: string) => `/apps/archive/users/u1/sessions/${session}/artifacts`;
const json = async (response: Response) => ({ status: response.status, body: await response.json() });
const copied = (events: Event[]) =>
  events.flatMap(getFunctionResponses).find(({ name }) => name === 'copy_file')?.response as {
    version: number;
    size: number;
    sha256: string;
    rise: number;
  };

/** Yields blocks of bytes that compress badly, so that they are never in memory all at once. */
function* blocks(count: number, hash: { update(bytes: Uint8Array): unknown }) {
  const block = Buffer.alloc(mebibyte);
  for (let at = 0; at < block.length; at += 4) block.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at);
  for (let n = 0; n < count; n += 1) {
    block.writeUInt32LE(n);
    hash.update(block);
    yield Buffer.from(block);
  }
}

async function upload(session: string, name: string, count: number) {
  const hash = createHash('sha256');
  const init: RequestInit & { duplex: 'half' } = {
    method: 'PUT',
    headers: { 'content-type': 'video/mp4' },
    body: ReadableStream.from(blocks(count, hash)),
    duplex: 'half',
  };
  const response = await fetch(`${mesh.gatewayUrl}${pathOf(session)}/${name}/content`, init);
  expect(response.status).toBe(200);
  return { about: (await response.json()) as { version: number; size: number }, sha256: hash.digest('hex') };
}

async function download(session: string, name: string) {
  const response = await client.send('GET', `${pathOf(session)}/${name}/content`);
  const hash = createHash('sha256');
  for await (const chunk of response.body ?? []) hash.update(chunk);
  return { headers: response.headers, sha256: hash.digest('hex') };
}

/** Returns the number of messages in the bucket of files: 320 for 40 MiB that a keeper stores. */
async function storedPieces(): Promise<number> {
  const login = {
    ...natsLogin(mesh.login(provisionUser)),
    inboxPrefix: subjects().inboxPrefix(provisionUser),
  };
  const connection = await connect({ servers: mesh.natsUrl, ...login });
  const answer = await connection.request(`$JS.API.STREAM.INFO.OBJ_${subjects().artifactBucket}`);
  await connection.close();
  return answer.json<{ state: { messages: number } }>().state.messages;
}

const rssOf = (pid: number) => Number(execFileSync('ps', ['-o', 'rss=', '-p', `${pid}`])) * 1024;

describe('artifacts on the mesh', () => {
  it.runIf(isLongTier())(
    'of 300 MB are loaded and saved by a tool in another process, and no process grows by half of them',
    async () => {
      const session = await client.createSession('archive');
      // The first call loads and compiles code, which must not be measured.
      await upload(session, 'small', 20);
      await client.events('archive', session, 'copy small');
      const [keeper] = mesh.keepers;
      const before = rssOf(mesh.gateway.pid);
      const keeperBefore = rssOf(keeper?.pid ?? 0);
      const sent = await upload(session, 'large', 300);
      expect(sent.about).toMatchObject({ version: 0, size: 300 * mebibyte, mimeType: 'video/mp4' });
      const result = copied(await client.events('archive', session, 'copy large'));
      expect(result).toMatchObject({ version: 0, size: 300 * mebibyte, sha256: sent.sha256 });
      const got = await download(session, 'copy_large');
      expect(got.sha256).toBe(sent.sha256);
      expect(got.headers.get('content-type')).toBe('video/mp4');
      expect(got.headers.get('content-length')).toBe(String(300 * mebibyte));
      expect(result.rise).toBeLessThan(10 * mebibyte);
      // These hold garbage, too.
      expect(rssOf(mesh.gateway.pid) - before).toBeLessThan(150 * mebibyte);
      expect(rssOf(keeper?.pid ?? 0) - keeperBefore).toBeLessThan(150 * mebibyte);
    },
    240_000,
  );

  it.runIf(isLongTier())(
    'go on at another keeper when one dies in the middle of a file',
    async () => {
      const session = await client.createSession('archive');
      const sent = await upload(session, 'film', 40);
      const [first] = mesh.keepers;
      await mesh.start('keeper');
      const before = await storedPieces();
      const copying = client.events('archive', session, 'copy film');
      await until(async () => (await storedPieces()) > before + 20, { what: 'a part of the file' });
      await first?.kill();
      expect(await storedPieces()).toBeLessThan(before + 320);
      expect(copied(await copying)).toMatchObject({ version: 0, sha256: sent.sha256 });
      expect((await download(session, 'copy_film')).sha256).toBe(sent.sha256);
    },
    120_000,
  );

  it('name the problem of a wrong request', async () => {
    const session = await client.createSession('archive');
    const at = pathOf(session);
    const status = async (...args: Parameters<typeof client.send>) => (await client.send(...args)).status;
    const parts = [
      { inlineData: { mimeType: 'a/b', data: 5 } },
      { inlineData: { mimeType: 'a/b', data: '%%%' } },
      { inlineData: { mimeType: 'a/b\r\n; c=d', data: '' } },
      { inlineData: null },
      { fileData: null },
    ];
    for (const artifact of parts) expect(await status('POST', at, { filename: 'f', artifact })).toBe(400);
    expect(await status('POST', at, { filename: '..', artifact: { text: 'x' } })).toBe(400);
    expect(await status('POST', at, { filename: 'f', artifact: { text: 'x' } })).toBe(200);
    expect(await status('GET', `${at}/f?version=0`)).toBe(200);
    for (const [method, path] of [
      ['GET', '/f?vers=0'],
      ['GET', '/f/versions/0?version=0'],
      ['GET', '?version=0'],
      ['DELETE', '/f?version=0'],
    ] as const)
      expect(await status(method, at + path)).toBe(400);
    const upload = await fetch(`${mesh.gatewayUrl}${at}/f/content`, {
      method: 'PUT',
      headers: { 'content-type': 'nope' },
      body: 'x',
    });
    expect(await json(upload)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('not a MIME type') },
    });
    // Nothing is known of bytes without a type.
    const untyped = await fetch(`${mesh.gatewayUrl}${at}/g/content`, {
      method: 'PUT',
      body: Buffer.from('{}'),
    });
    expect(await json(untyped)).toMatchObject({
      status: 200,
      body: { mimeType: 'application/octet-stream' },
    });
    const bytes = await client.send('GET', `${at}/g/content`);
    expect([bytes.headers.get('content-type'), await bytes.text()]).toEqual([
      ...['application/octet-stream', '{}'],
    ]);
    const nowhere = '/apps/archive/users/u9/sessions/nope/artifacts';
    expect(await status('GET', nowhere)).toBe(404);
    // Files of the user need no session.
    expect(await status('POST', nowhere, { filename: 'user:f', artifact: { text: 'x' } })).toBe(200);
    expect((await json(await client.send('GET', nowhere))).body).toEqual(['user:f']);
  });

  it('are those of the caller for an agent used as a tool, and for the tools of that agent', async () => {
    const session = await client.createSession('archive');
    await client.send('POST', pathOf(session), { filename: 'note', artifact: { text: 'hello' } });
    const events = await client.events('archive', session, 'delegate note');
    expect(lastText(events)).toBe('done');
    expect(events.find(({ actions }) => 'copy_note' in actions.artifactDelta)?.actions.artifactDelta).toEqual(
      {
        copy_note: 0,
      },
    );
    const { body } = await json(await client.send('GET', pathOf(session)));
    expect(body).toEqual(['copy_note', 'note']);
  });

  it('get a version for each save of two processes at once', async () => {
    const session = await client.createSession('archive');
    const other = restClient((await mesh.start('gateway')).address ?? '');
    const saves = Array.from({ length: 20 }, async (_, n) => {
      const body = { filename: 'same', artifact: { text: `${n}` } };
      const response = await (n % 2 === 0 ? client : other).send('POST', pathOf(session), body);
      return ((await response.json()) as { version: number }).version;
    });
    const versions = await Promise.all(saves);
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    for (const [n, version] of versions.entries()) {
      const { body } = await json(await other.send('GET', `${pathOf(session)}/same/versions/${version}`));
      expect(body).toEqual({ text: `${n}` });
    }
  });

  it('are saved from a message with files when the run asks for it', async () => {
    const session = await client.createSession('archive');
    const inlineData = { mimeType: 'text/csv', data: 'YSxi', displayName: 'table.csv' };
    const events = await client.events('archive', session, 'x', {
      newMessage: { role: 'user', parts: [{ text: 'look' }, { inlineData }] },
      runConfig: { saveInputBlobsAsArtifacts: true },
    });
    expect(lastText(events)).toBe('ok');
    const { body } = await json(await client.send('GET', `${pathOf(session)}/table.csv`));
    expect(body).toEqual({ inlineData });
  });

  it('are deleted with their session, while those of the user stay', async () => {
    const session = await client.createSession('archive');
    for (const filename of ['own', 'user:kept'])
      await client.send('POST', pathOf(session), { filename, artifact: { text: 'x' } });
    await client.send('DELETE', `/apps/archive/users/u1/sessions/${session}`);
    expect((await json(await client.send('GET', pathOf(session)))).body).toEqual(['user:kept']);
  });
});

describe('the gateway', () => {
  it('has the routes of ADK for artifacts', async () => {
    const session = await client.createSession('archive');
    const send = async (method: string, path: string, body?: unknown) =>
      await json(await client.send(method, `${pathOf(session)}${path}`, body));
    const custom_metadata = { snake_case: 1 };
    const artifact = { inline_data: { mime_type: 'image/png', data: 'AAEC' } };
    const saved = await send('POST', '', { filename: 'a/b.png', artifact, custom_metadata });
    expect(saved).toMatchObject({
      status: 200,
      body: { version: 0, mimeType: 'image/png', size: 3, customMetadata: { snake_case: 1 } },
    });
    expect((await send('POST', '', { filename: 'a/b.png', artifact: { text: 'two' } })).body).toMatchObject({
      version: 1,
    });
    const name = '/a%2Fb.png';
    expect((await send('GET', '')).body).toContain('a/b.png');
    expect((await send('GET', name)).body).toEqual({ text: 'two' });
    const first = { inlineData: { mimeType: 'image/png', data: 'AAEC' } };
    expect((await send('GET', `${name}?version=0`)).body).toEqual(first);
    expect((await send('GET', `${name}/versions`)).body).toEqual([0, 1]);
    expect((await send('GET', `${name}/versions/0`)).body).toEqual(first);
    expect((await send('GET', `${name}/versions/latest`)).body).toEqual({ text: 'two' });
    expect((await send('GET', `${name}/versions/0/metadata`)).body).toEqual(saved.body);
    expect((await send('GET', `${name}/versions/metadata`)).body).toMatchObject([saved.body, { version: 1 }]);
    const raw = await client.send('GET', `${pathOf(session)}${name}/versions/0/content`);
    expect([...new Uint8Array(await raw.arrayBuffer())]).toEqual([0, 1, 2]);
    expect(raw.headers.get('content-disposition')).toContain('attachment');
    const missing = [`${name}/versions/7`, '/none', '/none/content', '/none/versions/0/metadata'];
    for (const path of missing)
      expect(await send('GET', path), path).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const wrong = [await send('GET', `${name}/versions/x`), await send('POST', '', { filename: 'x' })];
    wrong.push(await send('POST', '', { filename: '', artifact: { text: 'x' } }));
    wrong.push(await send('POST', '', { filename: 'x', artifact: {} }));
    for (const each of wrong) expect(each).toMatchObject({ status: 400, body: { code: 'invalid_argument' } });
    const deleted = await client.send('DELETE', `${pathOf(session)}${name}`);
    expect([deleted.status, await deleted.json()]).toEqual([200, null]);
    expect((await send('GET', name)).status).toBe(404);
    expect((await send('GET', '/versions')).status).toBe(404);
  });

  it('reads, writes and deletes an artifact whose name holds slashes that are not encoded', async () => {
    const session = await client.createSession('archive');
    const path = `${pathOf(session)}/notes/2026/plan.txt`;
    const put = await fetch(`${mesh.gatewayUrl}${path}/content`, {
      method: 'PUT',
      body: 'the plan',
      headers: { 'content-type': 'text/plain' },
    });
    expect((await json(put)).body).toMatchObject({ version: 0, size: 8 });
    expect((await json(await client.send('GET', pathOf(session)))).body).toContain('notes/2026/plan.txt');
    for (const end of ['', '/versions/0'])
      expect((await json(await client.send('GET', `${path}${end}`))).body, end).toMatchObject({
        inlineData: { mimeType: 'text/plain' },
      });
    expect(await (await client.send('GET', `${path}/versions/0/content`)).text()).toBe('the plan');
    expect(await (await client.send('GET', `${path}/content`)).text()).toBe('the plan');
    expect((await json(await client.send('GET', `${path}/versions`))).body).toEqual([0]);
    expect((await json(await client.send('GET', `${path}/versions/metadata`))).body).toHaveLength(1);
    expect((await json(await client.send('GET', `${path}/versions/0/metadata`))).body).toMatchObject({
      size: 8,
    });
    expect((await client.send('DELETE', path)).status).toBe(200);
    expect((await client.send('GET', path)).status).toBe(404);
  });

  it('keeps nothing of an interrupted upload, and refuses an upload to a missing session', async () => {
    const session = await client.createSession('archive');
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        if (sent > 4) controller.error(new Error('the source has gone'));
        else controller.enqueue(new Uint8Array(mebibyte));
      },
    });
    const init: RequestInit & { duplex: 'half' } = { method: 'PUT', body, duplex: 'half' };
    const put = fetch(`${mesh.gatewayUrl}${pathOf(session)}/f/content`, init);
    await expect(put).rejects.toThrow();
    expect((await json(await client.send('GET', `${pathOf(session)}/f/versions`))).body).toEqual([]);
    const stranger = await client.send('POST', pathOf('none'), { filename: 'f', artifact: { text: 'x' } });
    expect(stranger.status).toBe(404);
  });
});
