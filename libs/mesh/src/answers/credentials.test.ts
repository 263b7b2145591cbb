import {
  type AuthConfig,
  AuthenticatedFunctionTool,
  getFunctionCalls,
  InMemoryCredentialService,
  InMemorySignInService,
  LlmAgent,
  type LlmAgentConfig,
} from '@agentmesh/agent';
import { createSecretBox, type Event, newCredentialKeys } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { sealAnswers } from './sealed-answers.ts';

const authConfig: AuthConfig = {
  credentialKey: 'maps',
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' },
};

const keeping = () => ({
  box: createSecretBox(newCredentialKeys()),
  credentials: {
    credentialService: new InMemoryCredentialService(),
    signInService: new InMemorySignInService(),
  },
});

/** Makes an agent, a tool of another process that needs a key, and a client that notes what it enqueues. */
async function stage(
  kept: Parameters<typeof memoryMesh>[0],
  callbacks: Pick<LlmAgentConfig, 'beforeToolCallback'> = {},
) {
  const world = memoryMesh(kept);
  const used: unknown[] = [];
  const route = new AuthenticatedFunctionTool({
    name: 'route',
    description: 'finds the way',
    authConfig,
    execute(_input, { apiKey }) {
      used.push(apiKey);
      return { km: 3 };
    },
  });
  await serveTool(await world.connect('tool_route'), route);
  const model = new ScriptedLlm(calls('route'), says('3 km'), calls('route'), says('still 3 km'));
  const root = new LlmAgent({ name: 'root', model, tools: [remoteTool('route')], ...callbacks });
  await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
  const { client, ref, say } = await world.chat('app');
  const queued: string[] = [];
  const { enqueue } = client.bus;
  client.bus.enqueue = async (...args) => {
    queued.push(JSON.stringify(args));
    return await enqueue.apply(client.bus, args);
  };
  const messageOf = (id: string | undefined, apiKey: string) => {
    const response = { exchangedAuthCredential: { authType: 'apiKey', apiKey } };
    return { role: 'user', parts: [{ functionResponse: { id: id ?? '', response } }] };
  };
  const answer = async (id: string | undefined, apiKey: string) => {
    const run = await startRun(client, {
      app: 'app',
      user: 'u',
      session: ref.sessionId,
      message: messageOf(id, apiKey),
    });
    return { events: await Array.fromAsync(run.events), end: await run.end };
  };
  return { world, client, ref, say, answer, messageOf, queued, used };
}

/** The first characters of a text in a message that the first key sealed. */
const sealedByK1 = `"sealed":"${btoa('{"alg":"dir","enc":"A256GCM","kid":"k1"')}`;

const questionIn = (events: readonly Event[]) =>
  events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');

describe('a credential across processes', () => {
  it('is sealed in messages, opened for the tool in its own process, and kept for the next call', async () => {
    const { world, ref, say, answer, queued, used } = await stage(keeping());
    const { events } = await say('go');
    expect(events.map(brief).slice(0, 2)).toEqual([
      'root: calls route',
      'root: calls adk_request_credential',
    ]);
    const after = await answer(questionIn(events)?.id, 'MAPS-KEY');
    expect(after.events.map(brief)).toEqual(['root: gets {"km":3}', 'root: 3 km']);
    const { events: next } = await say('again');
    expect(next.map(brief)).toEqual(['root: calls route', 'root: gets {"km":3}', 'root: still 3 km']);
    expect(used).toEqual(['MAPS-KEY', 'MAPS-KEY']);
    expect(queued.join()).toContain(sealedByK1);
    const stored = await world.sessions.getSession(ref);
    expect(JSON.stringify([queued, stored, events, after, next, world.lines])).not.toContain('MAPS-KEY');
  });

  it('that a program published in plain text is sealed before it is kept', async () => {
    const { world, client, ref, say, messageOf, used } = await stage(keeping());
    const { events } = await say('go');
    const waiting: string[] = [];
    const { leases } = world.sessions;
    const { take } = leases;
    leases.take = async (...args) => {
      waiting.push(args[1].run);
      return await take.apply(leases, args);
    };
    const message = messageOf(questionIn(events)?.id, 'MAPS-KEY');
    const { sessionId: session } = ref;
    const command = { invocationId: 'e-1', app: 'app', user: 'u', session, message };
    await client.bus.enqueue(client.subjects.agentRun('root', command.session), command, { messageId: 'm' });
    await expect.poll(() => used).toEqual(['MAPS-KEY']);
    expect(waiting.join()).toContain(sealedByK1);
    expect(waiting.join()).not.toContain('MAPS-KEY');
  });

  it('goes to the agent when its callback asked, and to the tool when the tool asked', async () => {
    const door: AuthConfig = { credentialKey: 'door', authScheme: { type: 'apiKey' } };
    const seen: unknown[] = [];
    const { say, answer, used } = await stage(keeping(), {
      beforeToolCallback({ context }) {
        const credential = context.getAuthResponse(door);
        seen.push(credential?.apiKey, context.getAuthResponse(authConfig));
        if (credential) return undefined;
        context.requestCredential(door);
        return { status: 'closed' };
      },
    });
    const first = questionIn((await say('go')).events);
    const opened = await answer(first?.id, 'DOOR-KEY');
    const second = questionIn(opened.events);
    expect(second?.id).not.toBe(first?.id);
    const { events } = await answer(second?.id, 'MAPS-KEY');
    expect(events.map(brief)).toEqual(['root: gets {"km":3}', 'root: 3 km']);
    expect(used).toEqual(['MAPS-KEY']);
    expect(seen).toEqual([undefined, undefined, 'DOOR-KEY', undefined, 'DOOR-KEY', undefined]);
  });

  it('that was sealed for another question is refused', async () => {
    const { client, ref, say, messageOf, queued } = await stage(keeping());
    const { events } = await say('go');
    const id = questionIn(events)?.id ?? '';
    const other = await sealAnswers(client, ref, messageOf(`${id}-other-credential-1`, 'MAPS-KEY'));
    const response = other.parts?.[0]?.functionResponse?.response ?? {};
    expect(response).toEqual({ sealed: expect.any(String) });
    const functionResponse = { id, name: 'adk_request_credential', response };
    const before = queued.length;
    const message = { role: 'user', parts: [{ functionResponse }] };
    await expect(
      startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message }),
    ).rejects.toMatchObject({ code: 'permission_denied' });
    expect(queued).toHaveLength(before);
  });
});

describe('a mesh without CREDENTIAL_KEYS', () => {
  it('names the variable to set, and takes no credential', async () => {
    const { client, ref, say, answer, messageOf, queued, used } = await stage({});
    const { end } = await say('go');
    expect(end.error).toMatchObject({ code: 'failed_precondition' });
    expect(end.error?.message).toContain('set CREDENTIAL_KEYS');
    const id = 'adk-1-credential-1';
    await expect(answer(id, 'MAPS-KEY')).rejects.toMatchObject({ code: 'failed_precondition' });
    await expect(sealAnswers(client, ref, messageOf(id, 'MAPS-KEY'))).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('set CREDENTIAL_KEYS'),
    });
    expect(queued.join()).not.toContain('MAPS-KEY');
    expect(used).toEqual([]);
  });

  it('refuses a credential in a command that is in the queue already', async () => {
    const { world, client, ref, messageOf } = await stage({});
    const { sessionId: session } = ref;
    const message = messageOf('adk-1-credential-1', 'MAPS-KEY');
    const command = { invocationId: 'e-1', app: 'app', user: 'u', session, message };
    await client.bus.enqueue(client.subjects.agentRun('root', command.session), command, { messageId: 'm' });
    await expect
      .poll(() => world.sessions.invocations.get({ ...ref, invocationId: 'e-1' }))
      .toMatchObject({ status: 'failed', error: { code: 'failed_precondition' } });
    expect(JSON.stringify(await world.sessions.getSession(ref))).not.toContain('MAPS-KEY');
  });
});
