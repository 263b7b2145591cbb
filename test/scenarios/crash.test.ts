import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Event, replicaKey } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const [stock] = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
if (!stock) throw new Error('the stock sample is gone');

let model: ScriptedGemini;
let mesh: LocalMesh;
/** Whether the model holds back its answer. */
let hold = false;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      if (latestFunctionResponses(request).length === 0) {
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      }
      return hold ? { hang: true } : { text: 'done' };
    },
  });
  mesh = await launchMesh({
    services: [stock],
    ackWaitMs: 1_000,
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

describe('an agent that is killed in the middle of a run', () => {
  it('is replaced: the run continues from its log without repeating its calls, and the client gets all events', async () => {
    const client = restClient(mesh.gatewayUrl);
    const session = await client.createSession('stock_app');
    const [first] = mesh.processes;
    hold = true;
    const running = client.events('stock_app', session, 'GOOG?');
    await until(() => model.requests.length === 2, { what: 'the model to be asked for the second time' });
    await first?.kill();
    hold = false;
    const second = await mesh.start(stock);
    const events: Event[] = await running;
    expect(lastText(events)).toBe('done');
    expect(events.map(({ content }) => Object.keys(content?.parts?.[0] ?? {})[0])).toEqual([
      'functionCall',
      'functionResponse',
      'text',
    ]);
    const pids = events.map(({ customMetadata }) => String(customMetadata?.[replicaKey]).split('-')[1]);
    expect(pids).toEqual([first?.pid, first?.pid, second.pid].map(String));
    // One request for the call, one for the lost answer, one for the answer.
    expect(model.requests).toHaveLength(3);
    const response = await client.send('GET', `/apps/stock_app/users/u1/sessions/${session}`);
    const stored = (await response.json()) as { events: Event[] };
    expect(stored.events.filter(({ author }) => author !== 'user')).toEqual(events);
    expect(stored.events).toHaveLength(4);
  });
});
