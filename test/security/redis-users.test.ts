import { createHash } from 'node:crypto';
import { samples } from '@agentmesh/deploy/samples';
import { busName, gatewayManifest, keeperService, provisionUser, redisAcl } from '@agentmesh/mesh';
import { createSecretBox, keys as keysOf, newCredentialKeys } from '@agentmesh/protocol';
import { connectRedisStore, provisionRedis, type RedisStore } from '@agentmesh/store';
import { type Server, startRedis } from '@agentmesh/testing/servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const services = samples.map(({ manifest }) => manifest);
const users = [busName(gatewayManifest), keeperService, ...services.map(busName)];
const keys = keysOf();
/** The apps in whose sessions each service works. */
const apps: Record<string, string[]> = {
  agent_assistant_agent: ['assistant_app'],
  agent_customer_agent: ['customer_app', 'support_agent'],
  agent_document_agent: ['document_app'],
  agent_file_agent: ['file_app'],
  agent_reimbursement_agent: ['reimbursement_app'],
  agent_stock_agent: ['stock_app'],
  agent_summary_agent: ['assistant_app', 'summary_agent'],
  agent_support_agent: ['customer_app', 'support_agent'],
  agent_time_off_agent: ['time_off_app'],
  agent_weather_agent: ['weather_app'],
  tool_ask_for_approval: ['reimbursement_app'],
  tool_process_document: ['document_app'],
  tool_process_large_file: ['file_app'],
  tool_reimburse: ['reimbursement_app'],
  tool_get_weather: ['weather_app'],
};
/** The tools whose records each agent uses. */
const tools: Record<string, string[]> = {
  agent_document_agent: ['process_document'],
  agent_file_agent: ['process_large_file'],
  agent_reimbursement_agent: ['ask_for_approval', 'reimburse'],
  agent_weather_agent: ['get_weather'],
};
/** The agents whose deadlines each agent writes, beside its own. */
const neighbours: Record<string, string[]> = {
  agent_assistant_agent: ['summary_agent'],
  agent_customer_agent: ['support_agent'],
  agent_support_agent: ['customer_agent'],
};
const waiting = ['tool_ask_for_approval', 'tool_process_large_file'];

interface Victim {
  key: string;
  /** The users that may use the key, and the users that may only read it, or only write it. */
  use: string[];
  read?: string[];
  write?: string[];
}

const owner = 'gateway';
/** Reads who works for which session. */
const keeper = 'keeper';
const workersOf = (app: string, kind: 'agent' | 'tool') =>
  users.filter((user) => user.startsWith(kind) && apps[user]?.includes(app));

/** Patterns of Redis have no end: that of a session's hash also holds the keys beside it. */
const isBelow = (key: string, session: string) => key.startsWith(session);

function victimsOfApp(app: string): Victim[] {
  const ref = { appName: app, userId: 'ann', sessionId: 's' };
  const use = [owner, ...workersOf(app, 'agent')];
  const callers = workersOf(app, 'tool');
  const poll = callers.filter((user) => waiting.includes(user));
  const remember = callers.filter((user) => user === 'tool_process_document');
  const ofUser = [
    keys.user,
    keys.appOutbox,
    keys.hiddenSessions,
    keys.index,
    keys.sessions,
    keys.sessionEnds,
    keys.running,
    keys.ready,
    keys.queued,
  ];
  const ofSession = [keys.session, keys.events, keys.state, keys.waiting, keys.waitingRuns];
  const { meta, entries } = keys.memory(app, 'ann');
  return [
    ...ofUser.map((key) => ({ key: key(app, 'ann'), use })),
    ...ofSession.map((key) => ({
      key: key(ref),
      use,
      ...(isBelow(key(ref), keys.session(ref)) && { read: [keeper] }),
    })),
    ...[keys.app(app), keys.busySessions(app), keys.busyUsers(app), keys.answerKey(app, 'k')].map((key) => ({
      key,
      use,
    })),
    { key: keys.invocation(app, 'ann', 'e-1'), use, read: [...callers, keeper] },
    { key: keys.pending(app, 'ann'), use, read: [...poll, keeper] },
    { key: keys.answered(ref), use, read: [...poll, keeper] },
    ...[meta, entries].map((key) => ({ key, use: [...use, ...remember] })),
    // No sample uses credentials.
    { key: keys.credential(app, 'ann', 'calendar'), use: [], write: [owner] },
    { key: keys.credentialTurn(app, 'ann', 'calendar'), use: [], write: [owner] },
    { key: keys.credentials(app, 'ann'), use: [owner] },
    { key: keys.signIn(ref, 'q'), use: [owner] },
    { key: keys.dataKey(app, 'ann'), use: [keeper], write: [owner] },
  ];
}

function victimsOfService({ kind, name }: (typeof services)[number]): Victim[] {
  if (kind === 'agent') {
    const near = users.filter((user) => neighbours[user]?.includes(name));
    return [{ key: keys.deadlines(name), use: [owner, `agent_${name}`, ...near] }];
  }
  const callers = users.filter((user) => tools[user]?.includes(name));
  const use = [owner, `tool_${name}`, ...callers];
  const records = [keys.call(name, 'c'), keys.job(name, 'c'), keys.jobProgress(name, 'c')];
  return [
    ...records.map((key) => ({ key, use })),
    { key: keys.own(`tool_${name}`, 'x'), use: [`tool_${name}`] },
  ];
}

const agents = users.filter((user) => user.startsWith('agent'));
const victims: Victim[] = [
  ...[...new Set([...Object.values(apps).flat(), 'other_app', 'job'])].flatMap(victimsOfApp),
  ...services.flatMap(victimsOfService),
  { key: keys.asking('call-1'), use: [owner, ...agents] },
  { key: keys.callerKey('k'), use: [owner], read: services.map(busName) },
  { key: keys.limit('requests', 'ann'), use: [owner] },
  { key: keys.apiKeys.records, use: [], read: [owner] },
  { key: keys.apiKeys.uses, use: [], write: [owner] },
  { key: keys.apiKeys.names, use: [] },
  { key: keys.keeperKey, use: [keeper] },
  { key: 'of-another-program', use: [] },
];

let server: Server;
beforeAll(async () => {
  const passwordHash = (user: string) => createHash('sha256').update(user).digest('hex');
  server = await startRedis({ password: 'admin', users: redisAcl({ services, passwordHash }) });
  await provisionRedis({ url: urlOf(provisionUser) });
});
afterAll(() => server.stop());

const urlOf = (user: string) => server.url.replace(/\/\/.*@/, `//${user}:${user}@`);

function login(user: string): Redis {
  const redis = new Redis(urlOf(user));
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** Returns whether the server refuses the user a command. Any other answer shows that it is allowed. */
async function isRefused(redis: Redis, [name = '', ...args]: readonly string[]): Promise<boolean> {
  try {
    await redis.call(name, args);
    return false;
  } catch (error) {
    return String(error).includes('NOPERM');
  }
}

async function refusedKeys(user: string, probe: readonly string[]): Promise<string[]> {
  const redis = login(user);
  const refused = await Promise.all(
    victims.map(({ key }) =>
      isRefused(
        redis,
        probe.map((part) => (part === 'KEY' ? key : part)),
      ),
    ),
  );
  return victims.flatMap(({ key }, at) => (refused[at] ? [key] : []));
}

const keysExcept = (may: (victim: Victim) => boolean) =>
  victims.filter((victim) => !may(victim)).map(({ key }) => key);

describe.each(users)('the user %s of Redis', (user) => {
  it('reads only the keys of its work', async () => {
    const may = ({ use, read = [] }: Victim) => use.includes(user) || read.includes(user);
    expect(await refusedKeys(user, ['HGET', 'KEY', 'field'])).toEqual(keysExcept(may));
    expect(await refusedKeys(user, ['FCALL_RO', 'none', '1', 'KEY'])).toEqual(keysExcept(may));
  });

  it('writes and deletes only the keys of its work', async () => {
    const may = ({ use, write = [] }: Victim) => use.includes(user) || write.includes(user);
    const probe = user === keeper ? ['SETNX', 'KEY', 'x'] : ['PEXPIRE', 'KEY', '100000'];
    expect(await refusedKeys(user, probe)).toEqual(keysExcept(may));
    expect(await refusedKeys(user, ['FCALL', 'none', '1', 'KEY'])).toEqual(
      keysExcept(({ use }) => use.includes(user)),
    );
  });

  it.each(
    [
      ...['EVAL', 'EVAL_RO'].map((name) => [name, 'while true do end', '0']),
      ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
      [
        'FUNCTION',
        'LOAD',
        '#!lua name=evil\nredis.register_function("evil", function() while true do end end)',
      ],
      ['FUNCTION', 'FLUSH'],
      ['FUNCTION', 'DELETE', 'agentmesh'],
      ['FUNCTION', 'LIST'],
      ['SCRIPT', 'LOAD', 'return 1'],
      ['KEYS', '*'],
      ['SCAN', '0'],
      ['RANDOMKEY'],
      ['DBSIZE'],
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['SWAPDB', '0', '1'],
      ['CONFIG', 'GET', '*'],
      ['CONFIG', 'SET', 'dir', '/tmp'],
      ['ACL', 'LIST'],
      ['ACL', 'SETUSER', 'gateway', '+@all'],
      ['CLIENT', 'LIST'],
      ['CLIENT', 'KILL', 'TYPE', 'normal'],
      ['CLIENT', 'PAUSE', '100000'],
      ['CLUSTER', 'NODES'],
      ['REPLICAOF', '127.0.0.1', '1'],
      ['PSYNC', '?', '-1'],
      ['SHUTDOWN'],
      ['LATENCY', 'RESET'],
      ['MODULE', 'LIST'],
      ['SAVE'],
      ['BGREWRITEAOF'],
      ['SLOWLOG', 'GET'],
      ['MONITOR'],
      ['PUBLISH', 'c', 'm'],
      ['SUBSCRIBE', 'c'],
      ['MULTI'],
      ['DUMP', 'k'],
      ['RESTORE', 'k', '0', 'x'],
      ['RENAME', 'k', 'l'],
      ['COPY', 'k', 'l'],
      ['MIGRATE', '127.0.0.1', '1', 'k', '0', '10'],
      ['SORT', 'k', 'GET', '*'],
      ['OBJECT', 'ENCODING', 'k'],
      ['BLPOP', 'k', '0'],
    ].map((command) => [command.slice(0, 2).join(' '), command] as const),
  )('is refused %s', async (_name, command) => {
    expect(await isRefused(login(user), command)).toBe(true);
  });
});

describe('a service that was taken over', () => {
  const box = createSecretBox(newCredentialKeys('k'));
  const victim = { appName: 'stock_app', userId: 'ann', sessionId: 's' };
  const maps = { credentialKey: 'maps', authScheme: { type: 'apiKey' } } as const;
  const secret = { ...maps, exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' } } as const;
  const refusal = { code: 'permission_denied' };

  async function open(user: string): Promise<RedisStore> {
    const store = await connectRedisStore({ url: urlOf(user), box });
    onTestFinished(() => store[Symbol.asyncDispose]());
    return store;
  }

  beforeAll(async () => {
    await using store = await connectRedisStore({ url: urlOf(provisionUser), box });
    await store.sessions.createSession({ ...victim, state: { note: 'private' } });
    await store.credentials?.credentialService.saveCredential(secret, victim);
  });

  it.each(users.filter((user) => user !== owner && user !== 'agent_stock_agent'))(
    '%s reads no session of another app',
    async (user) => {
      const { sessions } = await open(user);
      await expect(sessions.getSession(victim)).rejects.toMatchObject(refusal);
      await expect(sessions.listSessions(victim)).rejects.toMatchObject(refusal);
      await expect(sessions.log.readEvents(victim)).rejects.toMatchObject(refusal);
      await expect(sessions.deleteSession(victim)).rejects.toMatchObject(refusal);
    },
  );

  it.each(users)('%s opens no credential of a user', async (user) => {
    const { credentials } = await open(user);
    const loaded = credentials?.credentialService.loadCredential(maps, victim);
    await expect(loaded).rejects.toMatchObject(refusal);
  });

  it('hides nothing from its own work: the gateway and the agent read the session', async () => {
    for (const user of [owner, 'agent_stock_agent']) {
      const { sessions } = await open(user);
      expect(await sessions.getSession(victim)).toMatchObject({ state: { note: 'private' } });
    }
    const { credentialRecords } = await open(owner);
    expect(await credentialRecords.deleteCredentials(victim)).toBe(1);
  });
});
