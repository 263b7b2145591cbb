import { gzipSync } from 'node:zlib';
import type { Event as MeshEvent } from '@agentmesh/protocol';
import { build } from 'esbuild';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { MeshClient } from './client.ts';
import { MeshClientError } from './client-error.ts';
import { type Event, questionsIn, textOf } from './data.ts';
import { answering, json } from './gateway.fixture.ts';

const ref = { app: 'my shop', user: 'ann/1', session: 's' };
const at = '/apps/my%20shop/users/ann%2F1/sessions/s';

function client(...answers: Parameters<typeof answering>) {
  const gateway = answering(...answers);
  return { ...gateway, client: new MeshClient({ url: 'http://gateway/base/', fetch: gateway.fetch }) };
}

describe('a client', () => {
  it('is smaller than 10 kB for a browser, and needs nothing else', async () => {
    const entry = new URL('index.ts', import.meta.url).pathname;
    const { outputFiles, metafile } = await build({
      ...{ entryPoints: [entry], bundle: true, minify: true, format: 'esm', platform: 'browser' },
      ...{ target: 'es2022', write: false, metafile: true },
    });
    const size = gzipSync(outputFiles[0]?.contents ?? '').length;
    expect(size).toBeGreaterThan(1_000);
    expect(size).toBeLessThan(10_000);
    expect(Object.keys(metafile.inputs).filter((file) => !file.includes('client/src/'))).toEqual([]);
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });

  it('has events of the same form as the mesh', () => {
    expectTypeOf<Pick<MeshEvent, 'id' | 'invocationId' | 'author' | 'timestamp' | 'partial'>>().toExtend<
      Pick<Event, 'id' | 'invocationId' | 'author' | 'timestamp' | 'partial'>
    >();
    expectTypeOf<MeshEvent['longRunningToolIds']>().toEqualTypeOf<Event['longRunningToolIds']>();
  });

  it('encodes the parts of an address', async () => {
    const { client: mesh, asked } = client(json({ id: 's' }), new Response(null));
    await mesh.getSession(ref, { recentEvents: 3 });
    await mesh.downloadArtifact(ref, 'a/b.txt', { version: 2 });
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET /base${at}?numRecentEvents=3`,
      `GET /base${at}/artifacts/a%2Fb.txt/content?version=2`,
    ]);
  });

  it('asks for a token before each request', async () => {
    let count = 0;
    const gateway = answering(json([]), json([]));
    const token = async () => `token-${++count}`;
    const mesh = new MeshClient({ url: 'http://gateway', token, fetch: gateway.fetch });
    await mesh.apps();
    await mesh.apps();
    expect(gateway.asked.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  it('throws what a gateway says', async () => {
    const body = { error: 'no', code: 'resource_exhausted', details: { a: 1 }, traceId: 't' };
    const { client: mesh } = client(json(body, 429, { 'retry-after': '7' }));
    const error = await mesh.createSession(ref).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MeshClientError);
    expect(error).toMatchObject({
      ...{ message: 'no', code: 'resource_exhausted', status: 429, retryAfter: 7 },
      ...{ details: { a: 1 }, traceId: 't', isPassing: true },
    });
  });

  it('says that an answer comes from no gateway', async () => {
    const { client: mesh } = client(new Response('<html>', { status: 404 }));
    await expect(mesh.apps()).rejects.toMatchObject({
      ...{ code: 'internal', status: 404 },
      message: 'the answer has status 404 and comes from no gateway; check the url',
    });
    expect(() => new MeshClient({ url: 'gateway:8000' })).toThrow('url must be the address of a gateway');
  });

  it('repeats a request that does no harm, and no other', async () => {
    const { client: mesh, asked } = client(new TypeError('fetch failed'), json([]), new TypeError('x'));
    expect(await mesh.listSessions({ app: 'shop', user: 'ann' }, { limit: 2 })).toEqual([]);
    expect(asked).toHaveLength(2);
    await expect(mesh.createSession(ref)).rejects.toMatchObject({ code: 'unavailable', status: undefined });
    expect(asked).toHaveLength(3);
  });

  it('says in a page of another origin that the gateway may not allow the page', async () => {
    onTestFinished(() => void vi.unstubAllGlobals());
    const messageAt = async (origin: string) => {
      vi.stubGlobal('location', { origin });
      const { client: mesh } = client(new TypeError('Failed to fetch'));
      return await mesh.createSession(ref).catch((error: MeshClientError) => error.message);
    };
    expect(await messageAt('https://shop.example')).toBe(
      'no gateway answers at http://gateway/base, or it does not allow pages of https://shop.example; check that it runs there, and that its MESH_HTTP_CORS_ORIGINS names https://shop.example',
    );
    expect(await messageAt('http://gateway')).toBe('no gateway answers at http://gateway/base');
  });

  it.each(['amk_a\nb', 'amk_…', 'schlüssel'])(
    'refuses a token that no header can hold: %j',
    async (token) => {
      const gateway = answering(json([]));
      const mesh = new MeshClient({ url: 'http://gateway', token, fetch: gateway.fetch });
      const error = await mesh.apps().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'unauthenticated', status: undefined });
      expect(String(error)).toContain('the token has a character');
      expect(String(error)).not.toContain(token);
      expect(gateway.asked).toEqual([]);
    },
  );

  it('ends with the reason of its signal', async () => {
    const { client: mesh, asked } = client();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(mesh.pending(ref, { signal })).rejects.toThrow('enough');
    expect(asked).toEqual([]);
  });

  it.each([
    ['confirm', (mesh: MeshClient) => mesh.confirm(ref, question, false), { confirmed: false }],
    ['input', (mesh: MeshClient) => mesh.giveInput(ref, question, 'Rome'), { result: 'Rome' }],
    ['input of fields', (mesh: MeshClient) => mesh.giveInput(ref, question, { a: 1 }), { a: 1 }],
    [
      'credential',
      (mesh: MeshClient) => mesh.giveCredential(ref, question, { apiKey: 'k' }),
      { exchangedAuthCredential: { apiKey: 'k' } },
    ],
  ])('answers a question: %s', async (_kind, answer, response) => {
    const { client: mesh, asked } = client(new Response('', { headers: { 'x-invocation-id': 'e-2' } }));
    expect((await answer(mesh)).invocationId).toBe('e-2');
    expect(asked[0]?.body).toMatchObject({
      newMessage: { parts: [{ functionResponse: { ...question, response } }] },
    });
  });
});

const question = { id: 'c1', name: 'adk_request_confirmation' };

it('questions are the calls of an event that wait for an answer', () => {
  const call = (id: string, name: string) => ({ functionCall: { id, name, args: { id } } });
  const event: Event = {
    ...{ id: 'x', invocationId: 'e-1', timestamp: 0, actions: {} },
    content: {
      parts: [
        ...[call('1', 'adk_request_confirmation'), call('2', 'lookup'), call('3', 'ask_manager')],
        ...[{ text: 'a' }, { text: 'hidden', thought: true }, { text: 'b' }],
      ],
    },
    longRunningToolIds: ['1', '3'],
  };
  expect(questionsIn(event).map(({ id, kind }) => [id, kind])).toEqual([
    ['1', 'confirmation'],
    ['3', 'result'],
  ]);
  expect(questionsIn({ ...event, partial: true })).toEqual([]);
  expect(textOf(event)).toBe('ab');
});
