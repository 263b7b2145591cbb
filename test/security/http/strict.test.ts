import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskApp } from '../../browser/desk/src/agent.ts';
import { restClient } from '../../rest-client.ts';

const app = 'desk_app';
const user = `/apps/${app}/users/u1`;

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
let session: string;
/** The lines that the gateway has logged. */
const lines: string[] = [];
beforeAll(async () => {
  mesh = await launchMesh({
    services: [{ manifest: agentManifest(deskApp), folder: 'test/browser/desk' }],
    model: 'scripted',
    env: { MESH_LOG_LEVEL: 'debug' },
    onLine: (service, line) => service === 'gateway' && lines.push(line),
  });
  client = restClient(mesh.gatewayUrl);
  session = await client.createSession(app);
}, 60_000);
afterAll(() => mesh?.[Symbol.asyncDispose]());

const bodyOf = (more: object) => ({
  ...{ appName: app, userId: 'u1', sessionId: session, newMessage: { parts: [{ text: 'Save a.txt' }] } },
  ...more,
});
const answerTo = async (sent: Promise<Response>) => {
  const response = await sent;
  const text = await response.text();
  return { status: response.status, text };
};
const eventsIn = async (own: string) => {
  const log = await client.send('GET', `${user}/sessions/${own}`);
  return ((await log.json()) as { events: object[] }).events;
};

/** Writes a request as it is, and returns the answer; without `isWhole` the connection ends at once. */
async function raw(request: string | Buffer, isWhole = true): Promise<string> {
  const socket = connect({ port: Number(new URL(mesh.gatewayUrl).port), host: '127.0.0.1' });
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes;
  });
  socket.write(request);
  if (isWhole) await once(socket, 'close');
  else await once(socket, 'ready');
  socket.destroy();
  return answer;
}

describe('fields and keys that a route does not know', () => {
  it.each([
    ['POST', '/run', bodyOf],
    ['POST', '/run_sse', bodyOf],
    ['PATCH', 'SESSION', (more: object) => ({ stateDelta: { a: 1 }, ...more })],
    ['POST', 'SESSION/artifacts', (more: object) => ({ filename: 'a', artifact: { text: 'b' }, ...more })],
    ['POST', 'SESSION/invocations/e-1/cancel', (more: object) => more],
  ])('are refused by their name in the body of %s %s', async (method, path, body) => {
    const own = await client.createSession(app);
    const to = path.replace('SESSION', `${user}/sessions/${own}`);
    const refused = await answerTo(client.send(method, to, { ...body({ banana: 1 }), sessionId: undefined }));
    expect(refused).toEqual({ status: 400, text: expect.stringContaining('\\"banana\\" is not known') });
    expect(await eventsIn(own)).toEqual([]);
  });

  it('are refused below runConfig too', async () => {
    const refused = await answerTo(
      client.send('POST', '/run', bodyOf({ runConfig: { responseModalities: [] } })),
    );
    expect(refused).toEqual({ status: 400, text: expect.stringContaining('runConfig.responseModalities') });
  });

  it('are refused in the message too', async () => {
    const newMessage = { text: 'hi', parts: [{ text: 'hi' }] };
    const refused = await answerTo(client.send('POST', '/run', bodyOf({ newMessage })));
    expect(refused).toEqual({ status: 400, text: expect.stringContaining('newMessage.text') });
  });

  it("may be those of ADK's web UI", async () => {
    const sent = bodyOf({ functionCallEventId: 'e', streaming: true, stateDelta: null });
    expect((await answerTo(client.send('POST', '/run_sse', sent))).status).toBe(200);
  });

  it.each([{ data: '!', mimeType: 'image/png' }, { data: 'AAAA', mimeType: '' }, { data: 'AAAA' }])(
    'of data must be readable: %j',
    async (inlineData) => {
      const sent = bodyOf({ newMessage: { parts: [{ inlineData }] } });
      const refused = await answerTo(client.send('POST', '/run', sent));
      expect(refused).toEqual({ status: 400, text: expect.stringContaining('data in base64') });
    },
  );

  it('count as absent when they are null, as clients of Python write them', async () => {
    const parts = [{ text: 'hi', functionCall: null, functionResponse: null, inlineData: null }];
    const sent = bodyOf({ streaming: null, runConfig: null, newMessage: { role: null, parts } });
    expect((await answerTo(client.send('POST', '/run', sent))).status).toBe(200);
  });

  it.each([
    ['POST', '/run', 'banana=1'],
    ['GET', 'SESSION/pending', 'banana=1'],
    ['GET', 'SESSION/artifacts', '__proto__=1'],
    ['GET', 'SESSION', '__proto__=1'],
    ['DELETE', 'SESSION', 'banana'],
  ])('are refused by their name in the query of %s %s?%s', async (method, path, query) => {
    const own = await client.createSession(app);
    const to = `${path.replace('SESSION', `${user}/sessions/${own}`)}?${query}`;
    const refused = await answerTo(client.send(method, to, method === 'POST' ? bodyOf({}) : undefined));
    const name = query.split('=')[0];
    expect(refused).toEqual({ status: 400, text: expect.stringContaining(`\\"${name}\\" is not known`) });
    expect(await eventsIn(own)).toEqual([]);
  });

  it('are ignored in the query of a public page', async () => {
    expect((await client.send('GET', '/health?now=1')).status).toBe(200);
  });
});

it.each([
  ['userId and user_id', bodyOf({ user_id: 'u1' })],
  ['newMessage and new_message', bodyOf({ new_message: {} })],
  [
    'mimeType and mime_type',
    bodyOf({ newMessage: { parts: [{ inlineData: { mimeType: 'a/b', mime_type: 'a/c' } }] } }),
  ],
])('two spellings of one field are refused: %s', async (names, body) => {
  const refused = await answerTo(client.send('POST', '/run', body));
  expect(refused).toEqual({ status: 400, text: expect.stringContaining(names) });
});

it.each([
  ['author', { author: '' }],
  ['timestamp', { timestamp: -1 }],
  ['timestamp', { timestamp: 1e17 }],
])(
  'an import whose second event has no good %s is refused, and stores nothing: %j',
  async (field, fields) => {
    const event = { id: 'e1', invocationId: 'i1', author: 'user', timestamp: 1_700_000_000_000, actions: {} };
    const events = [event, { ...event, id: 'e2', ...fields }];
    const to = `${user}/sessions/imported-badly`;
    expect(await answerTo(client.send('POST', to, { events }))).toEqual({
      ...{ status: 400, text: expect.stringContaining(`events.1.${field}: must be`) },
    });
    expect((await client.send('GET', to)).status).toBe(404);
  },
);

it.each(['system', 'assistant', 'model'])('a message of the role %s is refused', async (role) => {
  const own = await client.createSession(app);
  const message = { sessionId: own, newMessage: { role, parts: [{ text: 'Save a.txt' }] } };
  const refused = await answerTo(client.send('POST', '/run', bodyOf(message)));
  expect(refused).toEqual({ status: 400, text: expect.stringContaining(`the role ${role}`) });
  expect(await eventsIn(own)).toEqual([]);
});

it.each([
  ['a credential', { authConfig: {}, exchangedAuthCredential: { apiKey: 'k' } }],
  ['a sealed credential', { sealed: 'abc' }],
])(
  '%s for a question that nobody asked is refused like other answers, without a defect',
  async (_, response) => {
    const before = lines.length;
    const part = { functionResponse: { id: 'adk-x', name: 'adk_request_credential', response } };
    const refused = await answerTo(client.send('POST', '/run', bodyOf({ newMessage: { parts: [part] } })));
    expect(refused).toEqual({ status: 412, text: expect.stringContaining('no question has the id adk-x') });
    expect(refused.text).not.toContain('mesh.v1');
    expect(lines.slice(before).join('\n')).not.toMatch(/"level":"error"|"stack"/);
  },
);

it('an upload that its client breaks off is no defect', async () => {
  const before = lines.length;
  const path = `${user}/sessions/${session}/artifacts/half.bin/content`;
  const head = `PUT ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: a/b\r\ncontent-length: 1000000\r\n\r\n`;
  await raw(`${head}${'x'.repeat(5_000)}`, false);
  const news = () => lines.slice(before).join('\n');
  await until(() => news().includes('the client has left'), { what: 'the end of the upload' });
  expect(news()).not.toMatch(/"level":"(?:error|warn)"|"stack"|"status":5/);
  expect((await client.send('GET', path)).status).toBe(404);
});

describe('the cancellation of a run', () => {
  it('is not found for the id of a run of another user, in a session of the own', async () => {
    const started = await client.send(
      'POST',
      '/run_sse',
      bodyOf({ newMessage: { parts: [{ text: 'long' }] } }),
    );
    const invocation = started.headers.get('x-invocation-id');
    const own = await client.createSession(app, 'eve');
    const sessions = `/apps/${app}/users/eve/sessions/${own}/invocations`;
    for (const body of [{}, { resume: `r-${crypto.randomUUID()}` }]) {
      const refused = await answerTo(client.send('POST', `${sessions}/${invocation}/cancel`, body));
      expect(refused).toMatchObject({ status: 404 });
    }
    const state = await client.send('GET', `${user}/sessions/${session}/invocations/${invocation}`);
    expect(await state.json()).toMatchObject({ status: 'running' });
    const ended = await client.send(
      'POST',
      `${user}/sessions/${session}/invocations/${invocation}/cancel`,
      {},
    );
    expect(ended.status).toBe(202);
    await started.body?.cancel();
    const cancelled = async () => {
      const { runs } = (await (await client.send('GET', '/mesh/runs?status=cancelled')).json()) as {
        runs: { invocationId: string }[];
      };
      return runs.some(({ invocationId }) => invocationId === invocation);
    };
    await until(cancelled, { what: 'the run in the list of cancelled runs' });
  });
});

describe('bodies that are not sent as UTF-8', () => {
  const bytes = Buffer.from(JSON.stringify(bodyOf({})));
  const json = 'application/json';

  it.each([
    [
      'compressed',
      { 'content-type': json, 'content-encoding': 'gzip' },
      gzipSync(bytes),
      415,
      'content-encoding',
    ],
    ['in UTF-16', { 'content-type': `${json}; charset=utf-16` }, bytes, 415, 'charset utf-16'],
    [
      'with other bytes',
      { 'content-type': json },
      Buffer.from('{"a":"\xff\xfe"}', 'latin1'),
      400,
      'not UTF-8',
    ],
    ['with __proto__', { 'content-type': json }, Buffer.from('{"__proto__":{}}'), 400, '__proto__'],
  ])('are refused: %s', async (_, headers, body, status, words) => {
    const sent = fetch(`${mesh.gatewayUrl}/run`, { method: 'POST', headers, body });
    expect(await answerTo(sent)).toEqual({ status, text: expect.stringContaining(words) });
  });

  it('are not stored as files when they are compressed', async () => {
    const path = `${user}/sessions/${session}/artifacts/zipped.txt/content`;
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    const sent = fetch(`${mesh.gatewayUrl}${path}`, { method: 'PUT', headers, body: gzipSync('hello') });
    expect((await sent).status).toBe(415);
    expect((await client.send('GET', path)).status).toBe(404);
  });
});

it.each([
  ['/health', '', 400, 'the header host is missing'],
  ['/health', 'host: localhost\r\nhost: evil.example\r\n', 400, 'the header host stands twice'],
  ['http://evil.example/list-apps', 'host: localhost\r\n', 400, 'the address names host'],
  ['http://evil.example/list-apps', 'host: evil.example\r\n', 403, 'this gateway does not serve host'],
  ['/health', 'host: localhost\r\nexpect: tea\r\n', 417, 'the header expect is'],
])(
  'a request of HTTP/1.1 for %s with the headers %j is answered as an error',
  async (to, headers, status, words) => {
    const answer = await raw(`GET ${to} HTTP/1.1\r\nconnection: close\r\n${headers}\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\n\r\n\\{"error":"${words}`, 's'));
  },
);

describe('files', () => {
  it.each(['versions', 'versions/metadata', 'content', 'versions/0'])(
    'of a session that does not exist are not found: %s',
    async (end) => {
      expect((await client.send('GET', `${user}/sessions/none/artifacts/a.txt/${end}`)).status).toBe(404);
    },
  );

  it('with a wrong version are refused with a hint', async () => {
    const refused = answerTo(client.send('GET', `${user}/sessions/${session}/artifacts/a.txt?version=-1`));
    expect(await refused).toEqual({ status: 400, text: expect.stringContaining('a whole number from 0') });
  });

  it('are not made under the address of a version', async () => {
    const files = `${user}/sessions/${session}/artifacts`;
    const sent = fetch(`${mesh.gatewayUrl}${files}/x/versions/1/content`, { method: 'PUT', body: 'a' });
    expect(await answerTo(sent)).toEqual({
      status: 400,
      text: expect.stringContaining('upload to …/artifacts/x/content'),
    });
    const named = fetch(`${mesh.gatewayUrl}${files}/x/version/1/content`, { method: 'PUT', body: 'a' });
    expect((await named).status).toBe(200);
  });

  it('have one content', async () => {
    const artifact = { text: 'a', inlineData: { data: 'AAAA', mimeType: 'image/png' } };
    const to = `${user}/sessions/${session}/artifacts`;
    const refused = await answerTo(client.send('POST', to, { filename: 'two', artifact }));
    expect(refused).toEqual({
      status: 400,
      text: expect.stringContaining('one of text, inlineData, fileData'),
    });
  });

  it('that only name a file at another place have no bytes', async () => {
    const files = `${user}/sessions/${session}/artifacts`;
    const fileData = { fileUri: 'gs://bucket/file', mimeType: 'text/plain' };
    const saved = await client.send('POST', files, { filename: 'far', artifact: { fileData } });
    expect(saved.status).toBe(200);
    expect(await (await client.send('GET', `${files}/far`)).json()).toEqual({ fileData });
    const refused = await answerTo(client.send('GET', `${files}/far/content`));
    expect(refused).toEqual({ status: 412, text: expect.stringContaining('gs://bucket/file') });
    const empty = await fetch(`${mesh.gatewayUrl}${files}/empty/content`, { method: 'PUT' });
    expect(empty.status).toBe(200);
    expect((await client.send('GET', `${files}/empty/content`)).status).toBe(200);
  });
});
