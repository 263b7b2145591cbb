import { App, type Event, getFunctionResponses } from '@agentmesh/agent';
import { connectNats, openWorkStreams } from '@agentmesh/bus';
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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';
import { clerk, scribe, write, writeLater } from './large-results/definitions.ts';

const folder = 'test/scenarios/large-results';
const services: Sample[] = [
  { manifest: agentManifest(new App({ name: 'clerk_app', rootAgent: clerk })), folder: `${folder}/clerk` },
  { manifest: agentManifest(scribe), folder: `${folder}/scribe` },
  { manifest: toolManifest(write), folder: `${folder}/tool` },
  { manifest: toolManifest(writeLater), folder: `${folder}/later` },
];
const names = subjects();
const size = 5_000_000;

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      const [response] = latestFunctionResponses(request);
      // The agent that another agent asked returns the whole text; the agent that talks to a person returns
      // its length.
      const text = String(response?.response?.text ?? response?.response?.result ?? '');
      if (response?.name === 'write') return { text };
      if (response) return { text: `${text.length} ${text[0]}` };
      const said = latestUserText(request);
      // An agent gets the actions of other agents as text.
      if (said.includes('[clerk]')) return { calls: [{ name: 'write', args: { size } }] };
      const [verb, arg = ''] = said.split(' ');
      if (verb === 'write') return { calls: [{ name: 'write', args: { size } }] };
      if (verb === 'later') return { calls: [{ name: 'write_later', args: { size } }] };
      if (verb === 'ask') return { calls: [{ name: 'scribe', args: { request: 'write it' } }] };
      if (verb === 'transfer')
        return { calls: [{ name: 'transfer_to_agent', args: { agentName: 'scribe' } }] };
      return { text: `heard ${verb?.length} ${arg}` };
    },
  });
  mesh = await launchMesh({ services, env: { MODEL_URL: model.url } });
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const responsesOf = (events: Event[]) =>
  events.flatMap((event) =>
    getFunctionResponses(event).map(({ name, response }) => {
      const text = String(response?.text ?? response?.result ?? '');
      return [name, text.length, text[0]];
    }),
  );

/** Lists the large payloads that are still in a bucket. */
async function kept(kind: 'news' | 'work'): Promise<string[]> {
  await using bus = await connectNats({
    url: mesh.natsUrl,
    service: 'provision',
    ...mesh.login('provision'),
  });
  return await bus.objects(names.claimBucket(kind)).ids();
}

describe('a result of 5 MB, over a broker that takes messages of 1 MB', () => {
  it('crosses three processes: from a tool to an agent used as a tool, to its caller, to a client', async () => {
    const session = await client.createSession('clerk_app');
    const events = await client.events('clerk_app', session, 'ask');
    expect(responsesOf(events)).toEqual([['scribe', size, 'w']]);
    expect(lastText(events)).toBe(`${size} w`);
    const stored = await client.send('GET', `/apps/clerk_app/users/u1/sessions/${session}`);
    expect(responsesOf(((await stored.json()) as { events: Event[] }).events)).toEqual([
      ['scribe', size, 'w'],
    ]);
  }, 60_000);

  it('comes as a stream from an agent after a transfer', async () => {
    const session = await client.createSession('clerk_app');
    const events = await Array.fromAsync(client.stream('clerk_app', session, 'transfer'));
    expect(responsesOf(events).at(-1)).toEqual(['write', size, 'w']);
    expect(lastText(events).length).toBe(size);
  }, 60_000);

  it('is the progress and the outcome of a job', async () => {
    const session = await client.createSession('clerk_app');
    const events = await client.events('clerk_app', session, 'later');
    const last = responsesOf(events).at(-1);
    expect(last).toEqual(['write_later', size, 'j']);
    expect(lastText(events)).toBe(`${size} j`);
  }, 60_000);

  it('may also be a message of a person', async () => {
    const session = await client.createSession('clerk_app');
    const events = await client.events('clerk_app', session, `${'m'.repeat(size)} too`);
    expect(lastText(events)).toBe(`heard ${size} too`);
  }, 60_000);

  it('leaves queued payloads, which no service may remove, to the sweep of the operator', async () => {
    const count = (await kept('work')).length;
    expect(count).toBeGreaterThan(0);
    await using streams = await openWorkStreams({ url: mesh.natsUrl, ...mesh.login(provisionUser) });
    let removed = 0;
    // The acknowledgement of the last message may still be on its way.
    const isEmpty = async () => {
      removed += await streams.removeLostPayloads(0);
      return (await kept('work')).length === 0;
    };
    await until(isEmpty, { what: 'the bucket to be empty' });
    expect(removed).toBe(count);
  });
});
