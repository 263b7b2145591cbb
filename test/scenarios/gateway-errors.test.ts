import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
const lines: { service: string; line: string }[] = [];

beforeAll(async () => {
  model = await startScriptedGemini({ script: () => ({ hang: true }) });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted', MESH_LOG_LEVEL: 'debug' },
    onLine: (service, line) => void lines.push({ service, line }),
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

interface ErrorBody {
  code: string;
  traceId: string;
  invocationId?: string;
}

/** Waits for the line of a service with these fields. */
async function logged(service: string, fields: object): Promise<void> {
  const isIt = (line: string) => {
    const read: Record<string, unknown> = JSON.parse(line);
    return Object.entries(fields).every(([name, value]) => read[name] === value);
  };
  await until(() => lines.some((each) => each.service === service && isIt(each.line)), {
    what: `a line of ${service} with ${JSON.stringify(fields)}`,
  });
}

/** Starts a run whose model does not answer. The run ends when it is cancelled. */
async function openRun() {
  const sessionId = await client.createSession('stock_app');
  const body = { appName: 'stock_app', userId: 'u1', sessionId, newMessage: 'wait' };
  const before = model.requests.length;
  const stream = await client.send('POST', '/run_sse', body);
  const invocationId = stream.headers.get('x-invocation-id') ?? '';
  await until(() => model.requests.length > before, { what: 'the model to be asked' });
  const path = `/apps/stock_app/users/u1/sessions/${sessionId}/invocations/${invocationId}`;
  const end = async () => {
    expect((await client.send('POST', `${path}/cancel`, {})).status).toBe(202);
  };
  return { sessionId, invocationId, path, stream, end };
}

describe('a request that no agent could use', () => {
  it('is refused by the name of its problem, and changes nothing', async () => {
    const sessionId = await client.createSession('stock_app');
    const run = async (newMessage: unknown) => {
      const body = { appName: 'stock_app', userId: 'u1', sessionId, newMessage };
      const response = await client.send('POST', '/run', body);
      return [response.status, ((await response.json()) as { error: string }).error];
    };
    expect(await run({ parts: [] })).toEqual([400, expect.stringContaining('no parts')]);
    expect(await run('')).toEqual([400, expect.stringContaining('no text')]);
    expect(await run({ role: 'user', parts: [{ text: '' }, { text: '' }] })).toEqual([
      ...[400, expect.stringContaining('no text')],
    ]);
    expect(await run({ role: 'model', parts: [{ text: 'Hi' }] })).toEqual([
      ...[400, expect.stringContaining('the role model')],
    ]);
    const sessions = '/apps/stock_app/users/u1/sessions';
    const { events } = (await (await client.send('GET', `${sessions}/${sessionId}`)).json()) as {
      events: [];
    };
    expect(events).toEqual([]);
    for (const id of ['a%00b', '..%2Fa', '%20a'])
      expect((await client.send('POST', `${sessions}/${id}`, {})).status).toBe(400);
  });
});

describe('the ids of an error', () => {
  it('are in the answer to a failed run, and in the log', async () => {
    const { sessionId, end } = await openRun();
    const response = await client.run('stock_app', sessionId, 'hi', { whenBusy: 'reject' });
    const { code, traceId, invocationId } = (await response.json()) as ErrorBody;
    expect([response.status, code]).toEqual([429, 'resource_exhausted']);
    expect(invocationId).toBe(response.headers.get('x-invocation-id'));
    await logged('gateway', { code, traceId, invocationId });
    await end();
  });

  it('are in the last frame of a stream, in the log of the agent, and in a resumed stream', async () => {
    const { path, invocationId, stream, end } = await openRun();
    await end();
    const told = lastFrame(await stream.text());
    expect(told).toMatchObject({ code: 'cancelled', traceId: expect.any(String), invocationId });
    await logged('gateway', { code: 'cancelled', traceId: told.traceId, invocationId });
    await logged('stock_agent', { msg: 'run ended', traceId: told.traceId, invocationId });
    const again = lastFrame(await (await client.send('GET', `${path}/events`)).text());
    expect(again).toMatchObject({ code: 'cancelled', invocationId });
    expect(again.traceId).not.toBe(told.traceId);
  });

  it('are in an answer without a run, and in the answer when the agent is away', async () => {
    const unknown = await client.run('stock_app', 'none', 'hi');
    const { traceId, ...missing } = (await unknown.json()) as ErrorBody;
    expect(missing).toEqual({ code: 'not_found', error: expect.any(String) });
    await logged('gateway', { code: 'not_found', traceId });
    const session = await client.createSession('stock_app');
    await Promise.all(mesh.processes.map((service) => service.stop()));
    const away = await client.run('stock_app', session, 'hi');
    const body = (await away.json()) as ErrorBody;
    expect([away.status, body]).toEqual([
      503,
      { code: 'unavailable', error: expect.any(String), traceId: expect.stringMatching(/^[0-9a-f]{32}$/) },
    ]);
    await logged('gateway', { code: 'unavailable', traceId: body.traceId });
  });
});

function lastFrame(text: string): ErrorBody {
  const data = text.split('\n').findLast((line) => line.startsWith('data: ')) ?? '';
  return JSON.parse(data.slice('data: '.length));
}
