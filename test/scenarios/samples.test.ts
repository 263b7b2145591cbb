import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Event, replicaKey } from '@agentmesh/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  const names = ['assistant', 'customer', 'stock', 'summary', 'support', 'weather'];
  const needed = ['get_weather', ...names.map((name) => `${name}_agent`)];
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
    model: 'scripted',
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const pidOf = (name: string) => mesh.processes.find((each) => each.name === name)?.pid;
const authorsOf = (events: readonly Event[]) => events.map(({ author }) => author);
const pidsOf = (events: readonly Event[]) =>
  events.map(({ customMetadata }) =>
    Number(/-(\d+)-[0-9a-f]+$/.exec(String(customMetadata?.[replicaKey]))?.[1]),
  );

describe('the samples as processes of their own', () => {
  it('stock_app: calls its function tool and answers with its result', async () => {
    const session = await client.createSession('stock_app');
    const events = await client.events('stock_app', session, 'What is the price of AAPL?');
    expect(events.map(({ content }) => Object.keys(content?.parts?.[0] ?? {})[0])).toEqual([
      'functionCall',
      'functionResponse',
      'text',
    ]);
    expect(events[1]?.actions.stateDelta).toEqual({ 'user:last_ticker': 'AAPL' });
    expect(lastText(events)).toBe('AAPL stands at $231.1.');
  });

  it('customer_app: an urgent customer is answered by the support process, in the same invocation and on the next turn', async () => {
    const session = await client.createSession('customer_app');
    const events = await client.events('customer_app', session, 'My account is locked, this is urgent!');
    expect(authorsOf(events)).toEqual(['customer_agent', 'customer_agent', 'support_agent']);
    expect(new Set(events.map(({ invocationId }) => invocationId)).size).toBe(1);
    expect(pidsOf(events)).toEqual([
      pidOf('customer_agent'),
      pidOf('customer_agent'),
      pidOf('support_agent'),
    ]);
    const next = await client.events('customer_app', session, 'Thank you. And now?');
    expect(authorsOf(next)).toEqual(['support_agent']);
  });

  it('customer_app: a customer in no hurry stays with the first agent', async () => {
    const session = await client.createSession('customer_app');
    const events = await client.events('customer_app', session, 'I have a question about my bill.');
    expect(new Set(authorsOf(events))).toEqual(new Set(['customer_agent']));
    expect(lastText(events)).toContain('No hurry');
  });

  it('assistant_app: the summary of another process comes back as the result of a tool', async () => {
    const session = await client.createSession('assistant_app');
    const events = await client.events('assistant_app', session, 'First things first. Then come others.');
    const [, response] = events;
    expect(response?.content?.parts?.[0]?.functionResponse).toMatchObject({
      name: 'summary_agent',
      response: { result: 'First things first. (6 words in all)' },
    });
    expect(lastText(events)).toBe('Here is the summary: First things first. (6 words in all)');
  });

  it('weather_app: the tool in another process writes to the user scope of the caller', async () => {
    const session = await client.createSession('weather_app');
    const events = await client.events('weather_app', session, 'How is the weather in Paris?');
    expect(lastText(events)).toBe('In Paris it is sunny, 25 °C.');
    const other = await client.createSession('weather_app');
    const response = await client.send('GET', `/apps/weather_app/users/u1/sessions/${other}`);
    expect(await response.json()).toMatchObject({ state: { 'user:last_city': 'Paris' } });
  });

  it('streams pieces in order, then the whole event', async () => {
    const session = await client.createSession('stock_app');
    const events = await Array.fromAsync(client.stream('stock_app', session, 'Price of MSFT?'));
    const pieces = events.filter(({ partial }) => partial);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map((piece) => lastText([piece])).join('')).toBe(lastText(events));
    expect(events.at(-1)?.partial).toBeUndefined();
  });

  it('does not list the sessions of asks among those of the user', async () => {
    const user = 'lister';
    const session = await client.createSession('assistant_app', user);
    await client.events('assistant_app', session, 'One. Two.', { userId: user });
    const response = await client.send('GET', `/apps/assistant_app/users/${user}/sessions`);
    expect(((await response.json()) as { id: string }[]).map(({ id }) => id)).toEqual([session]);
  });
});
