import type { PendingCall } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      const [price] = latestFunctionResponses(request);
      if (price) return { text: `it stands at ${price.response?.price}` };
      return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

async function pending(path: string): Promise<PendingCall[]> {
  const response = await client.send('GET', `/apps/stock_app/users/u1${path}/pending`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { pending: PendingCall[] }).pending;
}

describe('the pending calls of a session', () => {
  it('are listed from the call until the answer of the client', async () => {
    const session = await client.createSession('stock_app');
    expect(await pending(`/sessions/${session}`)).toEqual([]);
    const events = await client.events('stock_app', session, 'GOOG?', {
      run_config: { pause_on_tool_calls: true },
    });
    const [call] = await pending(`/sessions/${session}`);
    expect(call).toMatchObject({
      id: events[0]?.longRunningToolIds?.[0],
      name: 'get_stock_price',
      args: { ticker: 'GOOG' },
      kind: 'result',
      sessionId: session,
      agent: 'stock_agent',
    });
    expect(await pending('')).toEqual([call]);
    const response = await client.send('POST', '/run', {
      app_name: 'stock_app',
      user_id: 'u1',
      session_id: session,
      new_message: {
        role: 'user',
        parts: [{ function_response: { id: call?.id, name: call?.name, response: { price: 42 } } }],
      },
    });
    expect(lastText((await response.json()) as Event[])).toBe('it stands at 42');
    expect(await pending('')).toEqual([]);
  });

  it('are refused for missing sessions', async () => {
    const response = await client.send('GET', '/apps/stock_app/users/u1/sessions/none/pending');
    expect(response.status).toBe(404);
  });
});
