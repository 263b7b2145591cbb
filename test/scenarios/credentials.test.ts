import { readFileSync } from 'node:fs';
import type { AuthConfig } from '@agentmesh/agent';
import { App, getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, toolManifest } from '@agentmesh/mesh';
import { type Event, keys, newCredentialKeys } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  latestUserText,
  type ScriptedGemini,
  type Server,
  startNats,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { type SignInServer, startSignInServer } from '@agentmesh/testing/sign-in-server';
import { isLongTier } from '@agentmesh/testing/tiers';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';
import { calendar, diary, planner } from './sign-in/definitions.ts';
import { boxOfUser, expire, redisValues } from './sign-in/redis-values.ts';

const folder = 'test/scenarios/sign-in';
const plannerService: Sample = {
  manifest: agentManifest(new App({ name: 'planner_app', rootAgent: planner })),
  folder: `${folder}/agent`,
};
const diaryService: Sample = {
  manifest: agentManifest(new App({ name: 'diary_app', rootAgent: diary })),
  folder: `${folder}/local-agent`,
};
const toolService: Sample = { manifest: toolManifest(calendar), folder: `${folder}/tool` };

const credentialKeys = newCredentialKeys();
/** The first characters of each sealed text. */
const jwe = btoa('{"alg":"dir","enc":"A256GCM",').slice(0, -3);
let auth: SignInServer;
let model: ScriptedGemini;
let nats: Server;
let mesh: LocalMesh;
let ear: NatsConnection;
let redis: Redis;
let client: ReturnType<typeof restClient>;
/** The output of all processes, and all messages on NATS. */
const lines: string[] = [];
const messages: string[] = [];

beforeAll(async () => {
  auth = await startSignInServer();
  model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length === 0
        ? { calls: [{ name: latestUserText(request).includes('rooms') ? 'rooms' : 'calendar', args: {} }] }
        : { text: 'done' },
  });
  // The server has no users, so that the test may listen to all subjects.
  nats = await startNats();
  ear = await connect({ servers: nats.url });
  ear.subscribe('>', { callback: (_error, message) => void messages.push(message.string()) });
  mesh = await launchMesh({
    services: [plannerService, diaryService, toolService],
    natsUrl: nats.url,
    keepsKeys: true,
    ackWaitMs: 1_000,
    onLine: (_service, line) => lines.push(line),
    env: {
      CREDENTIAL_KEYS: credentialKeys,
      MESH_LOG_LEVEL: 'trace',
      MODEL_URL: model.url,
      AUTH_URL: auth.url,
      CLIENT_ID: auth.clientId,
      CLIENT_SECRET: auth.clientSecret,
      REDIRECT_URI: auth.redirectUri,
    },
  });
  redis = new Redis(mesh.redisUrl);
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  redis?.disconnect();
  await ear?.close();
  await mesh?.[Symbol.asyncDispose]();
  await Promise.all([nats?.stop(), model?.close(), auth?.close()]);
});
beforeEach(() => {
  auth.tokenRequests.length = 0;
  auth.answers = 'send';
});

const briefs = (events: Event[]) =>
  events.flatMap((event) => [
    ...getFunctionCalls(event).map(({ name }) => `calls ${name}`),
    ...getFunctionResponses(event).map(({ response }) => JSON.stringify(response)),
    ...(event.content?.parts ?? []).flatMap(({ text }) => text ?? []),
  ]);

const questionIn = (events: Event[]) =>
  events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');

/** Signs in as the question asks, and returns the client's answer. */
async function signIn(events: Event[], user: string) {
  const { id, name, args } = questionIn(events) ?? {};
  const { exchangedAuthCredential } = (args?.authConfig ?? {}) as Partial<AuthConfig>;
  const authResponseUri = await auth.signIn(exchangedAuthCredential?.oauth2?.authUri ?? '', user);
  const response = { exchangedAuthCredential: { authType: 'openIdConnect', oauth2: { authResponseUri } } };
  const newMessage = { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
  return { newMessage, code: new URL(authResponseUri).searchParams.get('code') ?? '' };
}

const signInKeyOf = (appName: string, userId: string, sessionId: string, asked: Event[]) =>
  keys().signIn({ appName, userId, sessionId }, questionIn(asked)?.id ?? '');

async function storedEvents(app: string, user: string, session: string): Promise<Event[]> {
  const response = await client.send('GET', `/apps/${app}/users/${user}/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

it('the keeper alone has the keys of credentials', async () => {
  const all = [...mesh.processes, mesh.gateway, ...mesh.keepers];
  const withKeys = all.filter(({ pid }) =>
    readFileSync(`/proc/${pid}/environ`, 'utf8').includes('CREDENTIAL_KEYS'),
  );
  expect(all.map(({ name }) => name).sort()).toEqual(['calendar', 'diary', 'gateway', 'keeper', 'planner']);
  expect(withKeys.map(({ name }) => name)).toEqual(['keeper']);
});

describe('a sign-in for a tool in a process of its own', () => {
  it('is done once, and never shows its code and tokens', async () => {
    const user = 'ann';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    expect(briefs(asked).slice(0, 2)).toEqual(['calls calendar', 'calls adk_request_credential']);
    const { newMessage, code } = await signIn(asked, user);
    const answered = await client.events('planner_app', session, '', { userId: user, newMessage });
    expect(briefs(answered)).toEqual(['{"status":200,"sub":"ann"}', 'done']);
    const second = await client.createSession('planner_app', user);
    const from = messages.length;
    const known = await client.events('planner_app', second, 'And now?', { userId: user });
    expect(briefs(known)).toEqual(['calls calendar', '{"status":200,"sub":"ann"}', 'done']);
    expect(auth.tokenRequests).toMatchObject([{ grantType: 'authorization_code', status: 200 }]);
    const requests = messages.slice(from).filter((text) => /^\{"do":"(?:open|seal|key)"/.test(text));
    expect(requests).toEqual([expect.stringContaining('"kind":"credential"')]);

    const box = await boxOfUser(redis, credentialKeys, { app: 'planner_app', user });
    const key = keys().credential('planner_app', user, 'calendar');
    const { oauth2 } = JSON.parse(await box.open((await redis.get(key)) ?? '', key));
    const signInKey = signInKeyOf('planner_app', user, session, asked);
    const kept = JSON.parse(
      await box.open((await redis.hget(signInKey, 'sign-in')) ?? '', `${signInKey}#sign-in@tool_calendar`),
    );
    const secrets: string[] = [
      auth.clientSecret,
      code,
      oauth2.accessToken,
      oauth2.refreshToken,
      oauth2.idToken,
      kept.codeVerifier,
    ];
    expect(secrets.every((secret) => typeof secret === 'string' && secret.length > 20)).toBe(true);
    const seen = {
      events: JSON.stringify([asked, answered, known, await storedEvents('planner_app', user, session)]),
      logs: lines.join('\n'),
      redis: (await redisValues(redis)).join('\n'),
      nats: messages.join('\n'),
    };
    // The events do contain the sign-in, so the checks below would notice a secret.
    expect(seen.events).toContain('"credentialKey":"calendar","received":true');
    expect(seen.logs).toContain('serving tool');
    expect(seen.nats).toContain('"do":"open"');
    expect(seen.redis).toContain(jwe);
    expect(seen.nats).toContain(`"sealed":"${jwe}`);
    for (const [where, text] of Object.entries(seen))
      for (const secret of secrets) expect(text.includes(secret), `a secret in ${where}`).toBe(false);
  });

  it('is renewed once by many replicas at the same time', async () => {
    const user = 'kim';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    const { newMessage } = await signIn(asked, user);
    await client.events('planner_app', session, '', { userId: user, newMessage });
    running.push(await mesh.start(toolService));
    await expire(redis, credentialKeys, { app: 'planner_app', user });
    const all = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const other = await client.createSession('planner_app', user);
        return briefs(await client.events('planner_app', other, 'And now?', { userId: user }));
      }),
    );
    for (const each of all) expect(each).toEqual(['calls calendar', '{"status":200,"sub":"kim"}', 'done']);
    expect(auth.tokenRequests).toMatchObject([
      { grantType: 'authorization_code', status: 200 },
      { grantType: 'refresh_token', status: 200 },
    ]);
  });

  it('is found by another keeper when one is killed in the middle', async () => {
    const user = 'ida';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    const { newMessage } = await signIn(asked, user);
    await client.events('planner_app', session, '', { userId: user, newMessage });
    await mesh.start('keeper');
    let done = 0;
    const asking = Promise.all(
      Array.from({ length: 8 }, async () => {
        const other = await client.createSession('planner_app', user);
        const events: Event[][] = [];
        for (let turn = 0; turn < 3; turn += 1) {
          events.push(await client.events('planner_app', other, 'And now?', { userId: user }));
          done += 1;
        }
        return events.map(briefs);
      }),
    );
    await until(() => done >= 4, { what: 'the first answers' });
    await mesh.keepers[0]?.kill();
    for (const each of (await asking).flat())
      expect(each).toEqual(['calls calendar', '{"status":200,"sub":"ida"}', 'done']);
    expect(auth.tokenRequests).toMatchObject([{ grantType: 'authorization_code', status: 200 }]);
  });

  it('waits for an authorization server that is away', async () => {
    const user = 'sam';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    const { newMessage } = await signIn(asked, user);
    await auth.down();
    const from = lines.length;
    const answering = client.events('planner_app', session, '', { userId: user, newMessage });
    await until(() => lines.slice(from).some((line) => line.includes('it will be tried again')), {
      what: 'the run to be given back',
    });
    await auth.up();
    expect(briefs(await answering)).toEqual(['{"status":200,"sub":"sam"}', 'done']);
    expect(auth.tokenRequests).toMatchObject([{ grantType: 'authorization_code', status: 200 }]);
  });

  it('with a used code is refused, and the model gets the reason', async () => {
    const user = 'pat';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    const { newMessage, code } = await signIn(asked, user);
    const signInKey = signInKeyOf('planner_app', user, session, asked);
    const box = await boxOfUser(redis, credentialKeys, { app: 'planner_app', user });
    const { codeVerifier } = JSON.parse(
      await box.open((await redis.hget(signInKey, 'sign-in')) ?? '', `${signInKey}#sign-in@tool_calendar`),
    );
    // A thief uses the code first, with all data that belong to it.
    const basic = Buffer.from(`${auth.clientId}:${auth.clientSecret}`).toString('base64');
    const stolen = await fetch(`${auth.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: auth.redirectUri,
        code_verifier: codeVerifier,
      }),
    });
    expect(stolen.status).toBe(200);
    const answered = await client.events('planner_app', session, '', { userId: user, newMessage });
    expect(briefs(answered)[0]).toContain('refused the code (invalid_grant)');
    expect(auth.tokenRequests.map(({ status }) => status)).toEqual([200, 400]);
  });

  it('is not asked for again when the agent is killed between the answer and the call', async () => {
    const user = 'bob';
    const session = await client.createSession('planner_app', user);
    const asked = await client.events('planner_app', session, 'What is on?', { userId: user });
    const { newMessage } = await signIn(asked, user);
    // Without a process of the tool the agent stops after the answer.
    await Promise.all(processesOf('calendar').map((each) => each.kill()));
    const answering = client.events('planner_app', session, '', { userId: user, newMessage });
    await until(async () => (await storedEvents('planner_app', user, session)).at(-1)?.author === 'user', {
      what: 'the answer to be committed',
    });
    await processOf('planner').kill();
    running.push(await mesh.start(toolService), await mesh.start(plannerService));
    expect(briefs(await answering)).toEqual(['{"status":200,"sub":"bob"}', 'done']);
    expect(auth.tokenRequests).toMatchObject([{ grantType: 'authorization_code', status: 200 }]);
  });
});

describe('a sign-in for a tool in the process of its agent', () => {
  it.runIf(isLongTier())(
    'is asked for again, and its code is not sent again, when the process is killed while it redeems it',
    async () => {
      const user = 'eve';
      const session = await client.createSession('diary_app', user);
      const asked = await client.events('diary_app', session, 'What is on?', { userId: user });
      const { newMessage } = await signIn(asked, user);
      auth.answers = 'hold';
      const answering = client.events('diary_app', session, '', { userId: user, newMessage });
      await until(() => auth.tokenRequests.length === 1, { what: 'the code to be sent' });
      await processOf('diary').kill();
      auth.answers = 'send';
      running.push(await mesh.start(diaryService));
      const again = await answering;
      expect(questionIn(again)?.id).not.toBe(questionIn(asked)?.id);
      expect(auth.tokenRequests).toHaveLength(1);
      const second = await signIn(again, user);
      const answered = await client.events('diary_app', session, '', {
        userId: user,
        newMessage: second.newMessage,
      });
      expect(briefs(answered)).toEqual(['{"status":200,"sub":"eve"}', 'done']);
    },
  );

  it('is not needed when the application signs in for itself', async () => {
    const session = await client.createSession('diary_app', 'lee');
    const events = await client.events('diary_app', session, 'Which rooms?', { userId: 'lee' });
    expect(briefs(events)).toEqual(['calls rooms', '{"hasToken":true}', 'done']);
    expect(auth.tokenRequests).toMatchObject([{ grantType: 'client_credentials', status: 200 }]);
  });

  it('is refused when it belongs to another question, and nothing is sent', async () => {
    const user = 'zoe';
    const session = await client.createSession('diary_app', user);
    const asked = await client.events('diary_app', session, 'What is on?', { userId: user });
    const { newMessage } = await signIn(asked, user);
    const forged = JSON.parse(JSON.stringify(newMessage).replace(/state=[^&"]+/, 'state=other'));
    const response = await client.send('POST', '/run', {
      appName: 'diary_app',
      userId: user,
      sessionId: session,
      newMessage: forged,
    });
    expect(await response.text()).toContain('its state differs');
    expect(auth.tokenRequests).toEqual([]);
  });
});

/** Processes that the tests have started, of which the newest of a service counts. */
const running: LocalMesh['processes'] = [];
function processesOf(name: string): LocalMesh['processes'] {
  return [...mesh.processes, ...running].filter((each) => each.name === name);
}
function processOf(name: string): LocalMesh['processes'][number] {
  const found = processesOf(name).at(-1);
  if (!found) throw new Error(`${name} does not run`);
  return found;
}
