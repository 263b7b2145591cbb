import { type AuthConfig, createEvent } from '@agentmesh/agent';
import { busName, keeperBox, type ServiceManifest } from '@agentmesh/mesh';
import {
  createSecretBox,
  keys as keysOf,
  newCredentialKeys,
  type SecretBox,
  type SecretUse,
  subjects,
} from '@agentmesh/protocol';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type KeeperStage, startKeeperStage } from './keeper.fixture.ts';
import { type Form, users } from './stage.fixture.ts';

const no = { transfers: [], asks: [], calls: [] };
/** An agent with two tools that use credentials of users, and an agent that uses a credential itself. */
const more: ServiceManifest[] = [
  { kind: 'agent', name: 'planner', ...no, calls: ['calendar', 'mail'], app: 'planner_app' },
  { kind: 'tool', name: 'calendar', ...no, credentialKeys: ['calendar'] },
  { kind: 'tool', name: 'mail', ...no, credentialKeys: ['mail'] },
  { kind: 'agent', name: 'diary', ...no, credentialKeys: ['calendar'], app: 'diary_app' },
];
const [planner, calendar, mail, diary] = more.map(busName) as [string, string, string, string];
const all = [...users, ...more.map(busName)];

const keys = keysOf();
const credentialKeys = newCredentialKeys();
const ann = { appName: 'planner_app', userId: 'ann', sessionId: 's' };
const place = { app: 'planner_app', user: 'ann', session: 's' };
const secretOf = (use: Partial<SecretUse> = {}) =>
  ({ kind: 'credential', ...place, key: 'calendar', ...use }) as SecretUse;
const question = 'adk-1-credential-1';
const signIn: SecretUse = { kind: 'sign-in', ...place, at: 's', question };
const signInAnswer: SecretUse = { ...signIn, kind: 'sign-in-answer', key: 'calendar' };
const answer: SecretUse = { kind: 'answer', ...place, question };
const others: [string, SecretUse][] = [
  ['another user', secretOf({ user: 'bob' })],
  ['another session', secretOf({ session: 't' })],
  ['another app', secretOf({ app: 'diary_app' })],
  ['another credential key', secretOf({ key: 'mail' } as Partial<SecretUse>)],
];
const refusal = { code: 'permission_denied' };
const text = 'the secret of ann';
const forms = casesOfTier<Form>(['JWT', 'file']);

describe.each(forms)('credentials through a keeper, with accounts in the %s form', (form) => {
  let mesh: KeeperStage;
  let count = 0;
  /** The secrets of the uses, sealed by services at work. */
  const sealed = new Map<SecretUse, string>();

  const boxAs = async (service: string, named = service): Promise<SecretBox> => {
    const bus = await mesh.busOf(service);
    return keeperBox({ request: bus.request, service: named }, subjects());
  };
  const open = (box: SecretBox, use: SecretUse, as = use) => box.open(sealed.get(as) ?? '', '', use);
  /** Begins a run of an agent in a session, with calls of tools. */
  const begin = async ({ agent = 'planner', tools = [] as string[], at = ann } = {}) => {
    const ref = { ...at, invocationId: `e-${++count}` };
    await mesh.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent });
    for (const tool of tools) await mesh.sessions.invocations.noteCall(ref, { id: `c-${tool}`, tool });
    return ref;
  };
  const end = (ref: Awaited<ReturnType<typeof begin>>) =>
    mesh.sessions.invocations.end(ref, { status: 'completed' });
  /** Tries to open and to seal. */
  const expectRefused = async (box: SecretBox, use: SecretUse, what: string) => {
    await expect(open(box, use, secretOfAnn), `${what}: open`).rejects.toMatchObject(refusal);
    await expect(box.seal('forged', '', use), `${what}: seal`).rejects.toMatchObject(refusal);
  };
  const secretOfAnn = secretOf();

  beforeAll(async () => {
    mesh = await startKeeperStage(form, { more, credentialKeys });
    for (const each of [
      ann,
      { ...ann, userId: 'bob' },
      { ...ann, sessionId: 't' },
      { ...ann, appName: 'diary_app' },
    ])
      await mesh.sessions.createSession(each);
    const run = await begin({ tools: ['calendar'] });
    const tool = await boxAs(calendar);
    for (const use of [secretOfAnn, signIn]) sealed.set(use, await tool.seal(text, '', use));
    sealed.set(signInAnswer, await (await boxAs(planner)).seal(text, '', signInAnswer));
    sealed.set(answer, await (await boxAs('gateway')).seal(text, '', answer));
    await end(run);
  }, 60_000);
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  it('are opened and sealed for the call of a tool, from its begin to its end', async () => {
    const box = await boxAs(calendar);
    await expectRefused(box, secretOfAnn, 'before the call');
    const run = await begin({ tools: ['calendar'] });
    expect(await open(box, secretOfAnn)).toBe(text);
    expect(await open(box, signIn)).toBe(text);
    expect(await open(box, signInAnswer)).toBe(text);
    for (const [what, use] of others) await expectRefused(box, use, what);
    await mesh.sessions.invocations.dropCall(run, 'c-calendar');
    await expectRefused(box, secretOfAnn, 'after the call');
    await end(run);
    const second = await begin({ tools: ['calendar'] });
    await end(second);
    await expectRefused(box, secretOfAnn, 'after the run');
  });

  it('are refused to every other service, also while a tool that may open them is called', async () => {
    const run = await begin({ tools: ['calendar', 'mail'] });
    for (const user of all.filter((each) => each !== calendar && each !== 'keeper')) {
      const box = await boxAs(user);
      await expectRefused(box, secretOfAnn, user);
      await expect(open(box, signIn), `the sign-in for ${user}`).rejects.toMatchObject(refusal);
      await expect(open(box, signInAnswer), `the answer for ${user}`).rejects.toMatchObject(refusal);
      await expectRefused(await boxAs(user, calendar), secretOfAnn, `${user} under another name`);
    }
    await end(run);
  });

  it('are of one credential key: a tool cannot open that of another tool as its own', async () => {
    const run = await begin({ tools: ['calendar', 'mail'] });
    const box = await boxAs(mail);
    const own = secretOf({ key: 'mail' } as Partial<SecretUse>);
    await expect(open(box, own, secretOfAnn)).rejects.toMatchObject(refusal);
    await expect(open(box, { ...signInAnswer, key: 'mail' }, signInAnswer)).rejects.toMatchObject(refusal);
    // It may ask under the subject of its own key, and names the other key in the request.
    const bus = await mesh.busOf(mail);
    const subject = subjects().secret(mail, 'key:mail');
    const { key } = (await last(bus.request(subject, { do: 'key' }))) as { key: object };
    const request = { do: 'open', use: secretOfAnn, sealed: sealed.get(secretOfAnn), to: key };
    await expect(last(bus.request(subject, request))).rejects.toMatchObject(refusal);
    await end(run);
  });

  it('in an answer are opened by the agent that asked, and not by the gateway or another agent', async () => {
    const agent = await boxAs(planner);
    for (const user of ['gateway', planner, diary, 'agent_stock_agent', calendar])
      await expect(open(await boxAs(user), answer), user).rejects.toMatchObject(refusal);
    const run = await begin();
    const call = { functionCall: { id: question, name: 'adk_request_credential', args: {} } };
    const session = (await mesh.sessions.getSession(ann)) ?? expect.fail();
    const asks = { author: 'planner', longRunningToolIds: [question], invocationId: run.invocationId };
    await mesh.sessions.appendEvent({
      session,
      event: createEvent({ ...asks, content: { role: 'model', parts: [call] } }),
    });
    await end(run);
    // The question waits.
    expect(await open(agent, answer)).toBe(text);
    for (const user of ['gateway', diary, 'agent_stock_agent', calendar])
      await expect(open(await boxAs(user), answer), user).rejects.toMatchObject(refusal);
    const response = { functionResponse: { id: question, name: 'adk_request_credential', response: {} } };
    const next = await begin();
    const answered = { author: 'user', content: { role: 'user', parts: [response] } };
    await mesh.sessions.appendEvent({
      session,
      event: createEvent({ ...answered, invocationId: next.invocationId }),
    });
    expect(await open(agent, answer)).toBe(text);
    await end(next);
    await expect(open(agent, answer)).rejects.toMatchObject(refusal);
  });

  it('are used by an agent for its own key, in its runs alone', async () => {
    const at = { ...ann, appName: 'diary_app' };
    const use = secretOf({ app: 'diary_app' });
    const box = await boxAs(diary);
    await expect(box.seal(text, '', use)).rejects.toMatchObject(refusal);
    const run = await begin({ agent: 'diary', at });
    const own = await box.seal(text, '', use);
    expect(await box.open(own, '', use)).toBe(text);
    await expect(box.open(own, '', secretOfAnn)).rejects.toMatchObject(refusal);
    await end(run);
    await expect(box.open(own, '', use)).rejects.toMatchObject(refusal);
  });

  it('are stored by services without keys, and cannot be opened after the data of the user is deleted', async () => {
    const tool = await mesh.connect(calendar);
    const owner = { ...ann, homeSessionId: 's' };
    const config: AuthConfig = { credentialKey: 'calendar', authScheme: { type: 'apiKey' } };
    const exchangedAuthCredential = { authType: 'apiKey', apiKey: text } as const;
    const { credentialService } = tool.credentials ?? expect.fail();
    const run = await begin({ tools: ['calendar'] });
    await credentialService.saveCredential({ ...config, exchangedAuthCredential }, owner);
    expect(await credentialService.loadCredential(config, owner)).toEqual(exchangedAuthCredential);
    const redis = new Redis(mesh.redisOf('provision'));
    onTestFinished(() => redis.disconnect());
    const key = keys.credential('planner_app', 'ann', 'calendar');
    const copy = (await redis.get(key)) ?? '';
    // The keys that services had before do not open it any more.
    await expect(createSecretBox(credentialKeys).open(copy, key)).rejects.toMatchObject({
      code: 'failed_precondition',
    });
    const gateway = await mesh.connect('gateway');
    expect(await gateway.credentialRecords?.deleteCredentials(owner)).toBe(1);
    expect(await credentialService.loadCredential(config, owner)).toBeUndefined();
    await redis.set(key, copy);
    await expect(tool.box?.open(copy, key, secretOfAnn)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('data key that is gone'),
    });
    // The user signs in again.
    expect(await credentialService.loadCredential(config, owner)).toBeUndefined();
    await credentialService.saveCredential({ ...config, exchangedAuthCredential }, owner);
    expect(await credentialService.loadCredential(config, owner)).toEqual(exchangedAuthCredential);
    await end(run);
  });

  it('are sealed by a process that has the former key of the keepers', async () => {
    const run = await begin({ tools: ['calendar'] });
    const box = await boxAs(calendar);
    await box.seal(text, '', secretOfAnn);
    const redis = new Redis(mesh.redisOf('provision'));
    onTestFinished(() => redis.disconnect());
    expect(await redis.del(keys.keeperKey)).toBe(1);
    expect(await box.open(await box.seal(text, '', secretOfAnn), '', secretOfAnn)).toBe(text);
    await end(run);
  });
});

async function last(frames: AsyncIterable<{ type: string; data?: unknown }>): Promise<unknown> {
  const all = await Array.fromAsync(frames);
  return all.at(-1)?.data;
}

describe('a service whose keeper has no key, or is away', () => {
  it('gets an error that says what to do, and goes on when a keeper comes', async () => {
    await using mesh = await startKeeperStage('file', { more, keepers: 0 });
    await mesh.sessions.createSession(ann);
    const ref = { ...ann, invocationId: 'e-1' };
    await mesh.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: 'planner' });
    await mesh.sessions.invocations.noteCall(ref, { id: 'c', tool: 'calendar' });
    const { box = expect.fail() } = await mesh.connect(calendar);
    await expect(box.seal(text, '', secretOf())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no keeper answers within 15 s, so credentials cannot be reached'),
    });
    const sealing = box.seal(text, '', secretOf());
    {
      await using _keeper = await mesh.startKeeper({ credentialKeys });
      expect(await box.open(await sealing, '', secretOf())).toBe(text);
    }
    await using _keyless = await mesh.startKeeper();
    await expect(box.open(await sealing, '', secretOf())).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('set CREDENTIAL_KEYS'),
    });
  }, 60_000);
});
