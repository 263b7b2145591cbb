import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, getFunctionResponses, type StoredMemory } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, toolManifest } from '@agentmesh/mesh';
import {
  latestFunctionResponses,
  latestUserText,
  type ScriptedGemini,
  startScriptedGemini,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withExamples } from '../example-page.ts';
import { lastText, restClient } from '../rest-client.ts';
import { host, notebook } from './memory/definitions.ts';

const root = join(import.meta.dirname, '../..');
const folder = 'test/scenarios/memory';
const agent: Sample = {
  manifest: agentManifest(new App({ name: 'host_app', rootAgent: host })),
  folder: `${folder}/agent`,
};
const tool: Sample = { manifest: toolManifest(notebook), folder: `${folder}/tool` };

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
beforeAll(async () => {
  model = await startScriptedGemini({
    embed: { meanings: [['beverage', '我喜欢绿茶']] },
    script: (request) => {
      const [response] = latestFunctionResponses(request);
      if (response) return { text: JSON.stringify(response.response) };
      const text = request.contents.at(-1)?.parts?.at(-1)?.text ?? '';
      const [, name, args] = /^(\w+) (\{.*)$/.exec(text) ?? [];
      if (name !== undefined) return { calls: [{ name, args: JSON.parse(args ?? '{}') }] };
      const quoted = request.systemInstruction?.includes('绿茶') ? 'you told me' : 'I do not know you';
      return { text: quoted };
    },
  });
  mesh = await launchMesh({
    services: [agent, tool],
    env: {
      MODEL_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      GOOGLE_GEMINI_BASE_URL: model.url,
      MESH_MEMORY_EMBEDDING_MODEL: 'gemini-embedding-001',
    },
  });
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const memory = '/apps/host_app/users/u1/memory';

async function say(text: string): Promise<string> {
  return lastText(await client.events('host_app', await client.createSession('host_app'), text));
}

async function memories(query = ''): Promise<StoredMemory[]> {
  const response = await client.send('GET', `${memory}${query}`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { memories: StoredMemory[] }).memories;
}

const texts = (found: StoredMemory[]) => found.map(({ content }) => content.parts?.[0]?.text);

it('on the page equals the output of the example', async () => {
  const page = readFileSync(join(root, 'docs/memory.md'), 'utf8');
  expect(withExamples(page, 'docs/examples/memory')).toBe(page);
  await using shown = await startScriptedGemini({
    script: (request) => {
      if (latestUserText(request) === '绿茶?')
        return { text: `You told me on Monday: ${/我喜欢\S+?(?=")/.exec(request.systemInstruction ?? '')}` };
      return { text: latestUserText(request).includes('dog') ? 'A fine name.' : 'I will remember that.' };
    },
  });
  const env = { ...process.env, GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: shown.url };
  const { stdout } = await promisify(execFile)(process.execPath, ['docs/examples/memory/remember.ts'], {
    cwd: root,
    env,
  });
  expect(stdout).toBe(readFileSync(join(root, 'docs/examples/memory/remember.txt'), 'utf8'));
});

it('names the missing key in the example', async () => {
  const { GEMINI_API_KEY: _, GOOGLE_API_KEY: __, ...env } = process.env;
  const example = ['docs/examples/memory/remember.ts'];
  const { stderr } = await promisify(execFile)(process.execPath, example, { cwd: root, env });
  expect(stderr).toContain('set GEMINI_API_KEY');
});

describe('memory', () => {
  it('of one session, added by the gateway or the agent, is found by another process in another session', async () => {
    expect(await say('绿茶?')).toBe('I do not know you');
    // The agent's callback has added it, in the agent's process.
    expect(texts(await memories())).toEqual(['绿茶?', 'I do not know you']);
    await mesh.start(agent);
    expect(await say('我喜欢绿茶')).toBe('you told me');
    expect(JSON.parse(await say('notebook {"find":"绿茶"}')).found).toEqual(
      expect.arrayContaining(['我喜欢绿茶', '绿茶?']),
    );
    expect(JSON.parse(await say('load_memory {"query":"绿茶"}')).memories).toContainEqual(
      expect.objectContaining({ author: 'user', content: '我喜欢绿茶' }),
    );
  });

  it('is found by its meaning when an embedding model is set', async () => {
    const session = await client.createSession('host_app');
    const events = await client.events('host_app', session, 'notebook {"find":"beverage"}');
    const [response] = events.flatMap(getFunctionResponses);
    expect(response?.response?.found).toContain('我喜欢绿茶');
  });

  it('that a tool in its own process adds is there for all', async () => {
    const before = JSON.parse(await say('notebook {"note":"allergic to nuts","find":"nuts"}'));
    expect(before.found[0]).toBe('allergic to nuts');
    expect(mesh.processes.map(({ pid }) => pid)).toContain(before.pid);
    expect(texts(await memories('?query=NUTS'))).toContain('allergic to nuts');
  });

  it('leaves out rewound events, and forgets those that it held', async () => {
    const sessions = '/apps/host_app/users/u1/sessions';
    const sessionId = await client.createSession('host_app');
    const rewind = async (text: string) => {
      const [first] = await client.events('host_app', sessionId, text);
      expect(texts(await memories('?query=banana'))).toEqual([text]);
      const body = { rewindBeforeInvocationId: first?.invocationId };
      expect(await client.send('POST', `${sessions}/${sessionId}/rewind`, body)).toMatchObject({
        status: 200,
      });
    };
    await client.events('host_app', sessionId, 'an apple');
    await rewind('secret banana');
    expect(await client.send('PATCH', memory, { sessionId })).toMatchObject({ status: 200 });
    expect(await memories('?query=banana')).toEqual([]);
    // The callback of the next turn forgets it too.
    await rewind('another banana');
    await client.events('host_app', sessionId, 'a cherry');
    expect(await memories('?query=banana')).toEqual([]);
    expect(texts(await memories('?query=apple+cherry'))).toEqual(['a cherry', 'an apple']);
  });

  it('is added, paged, and forgotten by REST', async () => {
    const sessionId = await client.createSession('host_app');
    await client.events('host_app', sessionId, 'a zebra came by');
    expect(await client.send('PATCH', memory, { sessionId })).toMatchObject({ status: 200 });
    await client.events('host_app', sessionId, 'and an okapi');
    expect(await client.send('PATCH', memory, { sessionId })).toMatchObject({ status: 200 });
    expect(texts(await memories('?query=okapi'))).toEqual(['and an okapi']);
    expect(await client.send('PATCH', memory, { session_id: 'none' })).toMatchObject({ status: 404 });
    expect(await client.send('PATCH', memory, {})).toMatchObject({ status: 400 });
    expect(texts(await memories('?query=zebra'))).toEqual(['a zebra came by']);
    const page = await (await client.send('GET', `${memory}?limit=1`)).json();
    expect(page).toMatchObject({ memories: [{}], next: expect.any(String) });
    const gone = await client.send('DELETE', `${memory}?sessionId=${sessionId}`);
    expect(await gone.json()).toEqual({ deleted: 4 });
    expect(await memories('?query=zebra')).not.toContainEqual(expect.objectContaining({ sessionId }));
    const count = (await memories()).length;
    for (const wrong of ['', '?all=false', '?session=a', '?sessionId=', '?all=true&session_id=a'])
      expect(await client.send('DELETE', `${memory}${wrong}`)).toMatchObject({ status: 400 });
    const other = await client.send('DELETE', `${memory}?session_id=nobody`);
    expect(await other.json()).toEqual({ deleted: 0 });
    expect(await memories()).toHaveLength(count);
    expect(await (await client.send('DELETE', `${memory}?all=true`)).json()).toEqual({ deleted: count });
    expect(await memories()).toEqual([]);
  });
});
