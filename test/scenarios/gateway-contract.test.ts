import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { OpenApiDocument } from '@agentmesh/gateway/open-api';
import { agentManifest } from '@agentmesh/mesh';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deskApp } from '../browser/desk/src/agent.ts';
import { restClient } from '../rest-client.ts';

const user = '/apps/{app}/users/{user}';
const session = `${user}/sessions/{session}`;
const artifact = `${session}/artifacts/{artifact}`;
const invocation = `${session}/invocations/{invocation}`;
const dev = '/dev/apps/{app}';

let mesh: LocalMesh;
let document: OpenApiDocument;
let ajv: Ajv2020;
/** The values of the parts of a path. */
const parts: Record<string, string> = {
  ...{ app: 'desk_app', user: 'ann', session: 's1', artifact: 'note.txt', version: '0' },
};

beforeAll(async () => {
  const services = [{ manifest: agentManifest(deskApp), folder: 'test/browser/desk' }];
  mesh = await launchMesh({ services, model: 'scripted' });
  document = (await (await fetch(`${mesh.gatewayUrl}/openapi.json`)).json()) as OpenApiDocument;
  ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(document, 'document');
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const encodedPointer = (path: string) => path.replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns the errors of a value by a schema of the document. */
function errorsOf(value: unknown, ...place: string[]): string[] {
  const pointer = place.map((each) => encodeURIComponent(encodedPointer(each))).join('/');
  const isValid = ajv.getSchema(`document#/${pointer}`);
  if (!isValid) throw new Error(`the document has nothing at ${pointer}`);
  return isValid(value)
    ? []
    : (isValid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Sends a request, and checks that the document has its address, its body, its status and its answer. */
async function send(
  method: string,
  path: string,
  { query = '', body }: { query?: string; body?: unknown } = {},
) {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`the document has no ${method} ${path}`);
  const name = `${method} ${path}`;
  const place = ['paths', path, method.toLowerCase()];
  if (body !== undefined) {
    const requested = [...place, 'requestBody', 'content', 'application/json', 'schema'];
    expect(errorsOf(body, ...requested), `${name}: what is sent`).toEqual([]);
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(parts[part] ?? ''));
  const answer = await restClient(mesh.gatewayUrl).send(method, `${filled}${query}`, body);
  const status = String(answer.status);
  const response = operation.responses[status];
  expect(response, `${name}: status ${status}`).toBeDefined();
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const text = await answer.text();
  const content = response?.content?.[type] ?? response?.content?.['*/*'];
  if (text !== '') expect(content, `${name}: ${type}`).toBeDefined();
  if (type !== 'application/json' || !response?.content?.[type]) return { answer, text };
  const value = JSON.parse(text);
  const found = errorsOf(value, ...place, 'responses', status, 'content', type, 'schema');
  expect(found, `${name}: ${text.slice(0, 300)}`).toEqual([]);
  return { answer, text, value };
}

const run = (newMessage: unknown) => ({
  ...{ appName: parts.app, userId: parts.user, sessionId: parts.session },
  newMessage,
});

it('the document describes what the gateway takes and answers', async () => {
  for (const path of ['/', '/health', '/version', '/openapi.json', '/docs', '/list-apps'])
    expect((await send('GET', path)).answer.status, path).toBe(200);
  await send('GET', '/list-apps', { query: '?detailed=true' });
  await send('GET', '/apps/{app}/app-info');
  await send('POST', `${user}/sessions`, { body: { sessionId: 's1', state: { color: 'blue' } } });
  expect((await send('POST', `${user}/sessions`, { body: { sessionId: 's1' } })).answer.status).toBe(409);
  await send('POST', session, { body: { state: {} } });
  const { answer, value } = await send('POST', '/run', { body: run('Save note.txt') });
  expect(value.length).toBeGreaterThan(2);
  parts.invocation = answer.headers.get('x-invocation-id') ?? '';
  await send('POST', '/run_sse', {
    body: run({ parts: [{ text: 'Order lunch' }] }),
    query: '?stop_on_disconnect=true',
  });
  for (const path of [`${session}/pending`, `${user}/pending`])
    expect((await send('GET', path)).value.pending).toMatchObject([{ kind: 'confirmation' }]);
  for (const path of [invocation, `${invocation}/events`, `${session}/events`, session, `${user}/sessions`])
    expect((await send('GET', path)).answer.status, path).toBe(200);
  expect((await send('GET', `${invocation}/events`, { query: '?after=4' })).answer.status).toBe(204);
  await send('GET', `${session}/events`, { query: '?after=1&limit=2' });
  expect((await send('POST', `${invocation}/cancel`, { body: { reason: 'late' } })).answer.status).toBe(202);
  await send('PATCH', session, { body: { stateDelta: { color: 'red' } } });
  await send('POST', `${session}/fork`, { body: { beforeInvocationId: parts.invocation } });
  await send('GET', `${user}/export`);
});

it('the document describes files and memories', async () => {
  await send('POST', `${session}/artifacts`, { body: { filename: 'a.txt', artifact: { text: 'hello' } } });
  await send('GET', `${session}/artifacts`);
  for (const end of ['', '/content', '/versions', '/versions/metadata', '/versions/{version}'])
    expect((await send('GET', `${artifact}${end}`)).answer.status, end).toBe(200);
  for (const end of ['content', 'metadata']) await send('GET', `${artifact}/versions/{version}/${end}`);
  await send('PATCH', `${user}/memory`, { body: { sessionId: 's1' } });
  await send('GET', `${user}/memory`);
  await send('GET', `${user}/memory`, { query: '?query=note' });
  await send('DELETE', `${user}/memory`, { query: '?all=true' });
  await send('DELETE', artifact);
});

it('the document describes the endpoint for AG-UI', async () => {
  const messages = [{ id: 'm', role: 'user', content: 'Tell me a story' }];
  const input = { threadId: 's2', runId: 'r', messages, tools: [], context: [] };
  const { answer, text } = await send('POST', `${user}/ag-ui`, { body: input });
  expect([answer.status, text]).toEqual([200, expect.stringContaining('RUN_FINISHED')]);
});

it('the document describes graphs and traces', async () => {
  for (const path of [
    'build_graph',
    'build_graph_image',
    'graph',
    'eval_sets',
    'eval-sets',
    'builder',
    'tests',
  ])
    expect((await send('GET', `${dev}/${path}`)).answer.status, path).toBe(200);
  await send('GET', `${dev}/debug/trace/session/{session}`, { query: '?user_id=ann' });
  expect((await send('POST', `${dev}/eval-sets`)).answer.status).toBe(501);
});

it('the document describes refusals', async () => {
  const wrong = { app: 'no_app', session: 'none', invocation: 'none' };
  expect((await send('GET', `${session}/events`, { query: '?after=x' })).answer.status).toBe(400);
  const before = { ...parts };
  Object.assign(parts, wrong);
  for (const path of [session, invocation, `${session}/pending`])
    expect((await send('GET', path)).answer.status, path).toBe(404);
  Object.assign(parts, before);
  await send('POST', `${session}/rewind`, { body: { rewindBeforeInvocationId: parts.invocation } });
  expect((await send('DELETE', session)).value).toBeNull();
  await send('DELETE', user);
});
