import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { provision } from '@agentmesh/bus';
import { samples } from '@agentmesh/deploy/samples';
import {
  busName,
  clientManifest,
  gatewayManifest,
  keeperManifest,
  natsAccounts,
  provisionUser,
  type ServiceManifest,
} from '@agentmesh/mesh';
import { type KeyFolder, keyOf } from '@agentmesh/mesh/accounts';
import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { type Account, decode, encodeAccount, fromPublic, type KeyPair, newScopedSigner } from '@nats-io/jwt';
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node';
import { resolverAt, startResolverStage } from '../resolver.fixture.ts';

export const names = subjects();
export const services = samples.map(({ manifest }) => manifest);
/** The users of the gateway, of other programs, of keepers, and of all sample services. */
export const users = [gatewayManifest, clientManifest, keeperManifest, ...services].map(busName);
export const agents = services.filter(({ kind }) => kind === 'agent').map(({ name }) => name);
export const tools = services.filter(({ kind }) => kind === 'tool').map(({ name }) => name);

/** The form in which NATS gets the accounts: its configuration, or JWTs. */
export type Form = 'file' | 'JWT';

export interface Stage extends AsyncDisposable {
  /** Opens a plain connection as a user. */
  login(user: string): Promise<NatsConnection>;
  /** Returns the address and the login of a user as `connectNats` takes them. */
  address(user: string): NatsAddress;
  /** A connection of the operator, who may do everything in the account of JetStream. */
  readonly operator: NatsConnection;
}

type NatsAddress = { url: string } & ReturnType<ServerWithAccounts['address']>;

/** A server with accounts, and the logins of its users. */
interface ServerWithAccounts extends AsyncDisposable {
  url: string;
  /** Returns the login as `provision` takes it. */
  address(user: string): { user: string; pass: string } | { credsFile: string };
  /** Returns the login as the client of NATS takes it. */
  options(user: string): ConnectionOptions;
}

interface StageOptions {
  /** Tells whether the users have the lists of permitted subjects; default false. */
  withLists?: boolean;
  /** Services beside the samples. */
  more?: readonly ServiceManifest[];
}

/**
 * Starts NATS with provisioned streams, and stores a run, an update, a job and a card for each service.
 * Without the lists of permitted subjects, the attacks meet only the borders of the accounts. The lists would
 * refuse most attacks by an error before they reach a border.
 */
export async function startStage(
  form: Form,
  { withLists = false, more = [] }: StageOptions = {},
): Promise<Stage> {
  await using owners = new AsyncDisposableStack();
  let stack: AsyncDisposableStack = owners;
  const server = owners.use(
    await (form === 'file' ? startFromFile(withLists, more) : startFromJwts(withLists, more)),
  );
  const login = async (user: string) => {
    const inboxPrefix = names.inboxPrefix(user);
    const connection = await connect({ servers: server.url, inboxPrefix, ...server.options(user) });
    stack.defer(() => connection.close());
    return connection;
  };
  await provision({ url: server.url, ...server.address(provisionUser), agents, tools, storage: 'memory' });
  const operator = await login(provisionUser);
  await storeOneOfEach(operator);
  stack = owners.move();
  const address = (user: string) => ({ url: server.url, ...server.address(user) });
  return { login, address, operator, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The name of a user is its password. */
async function startFromFile(
  withLists: boolean,
  more: readonly ServiceManifest[],
): Promise<ServerWithAccounts> {
  const accounts = natsAccounts({ services: [...services, ...more], password: (user) => user });
  const lists = /, permissions: \{\n[^\n]*\n[^\n]*\n {4}\}/g;
  const server = await startNats({ configuration: withLists ? accounts : accounts.replaceAll(lists, '') });
  const address = (user: string) => ({ user, pass: user });
  return { url: server.url, address, options: address, [Symbol.asyncDispose]: () => server.stop() };
}

/** The accounts as JWTs, for servers that are started one after the other. */
interface PreparedAccounts {
  /** The text for nats-server.conf, with all accounts. */
  configuration: string;
  folder: KeyFolder;
}

const prepared = new Map<string, Promise<PreparedAccounts>>();

async function startFromJwts(
  withLists: boolean,
  more: readonly ServiceManifest[],
): Promise<ServerWithAccounts> {
  const which = JSON.stringify([withLists, more.map(busName)]);
  const preparing = prepared.get(which) ?? prepareAccounts(withLists, more);
  prepared.set(which, preparing);
  const { configuration, folder } = await preparing;
  const server = await startNats({ configuration: resolverAt(configuration, randomUUID()) });
  const { creds } = folder.mesh('mesh');
  return {
    url: server.url,
    address: (user) => ({ credsFile: creds(user) }),
    options: (user) => ({ authenticator: credsAuthenticator(readFileSync(creds(user))) }),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** Pushes the accounts to a server, and returns them as that server got them. */
async function prepareAccounts(
  withLists: boolean,
  more: readonly ServiceManifest[],
): Promise<PreparedAccounts> {
  await using stage = await startResolverStage([...services, ...more], { keepsKeys: true });
  const { folder } = stage.tenancy;
  const signer = keyOf((await folder.operator()).signingSeeds[0]);
  const accounts = [provisionUser, ...users, ...more.map(busName)].map(async (user) => {
    const { account = '', pushed = '' } = (await folder.mesh('mesh').account(user)) ?? {};
    return `  ${account}: ${withLists ? pushed : await withoutLists(user, pushed, signer)}`;
  });
  const text = await readFile(folder.configuration, 'utf8');
  const preload = `resolver_preload: {\n${(await Promise.all(accounts)).join('\n')}\n`;
  return { configuration: text.replace('resolver_preload: {\n', preload), folder };
}

/** Returns an account with keys whose users may use every subject of the account. */
async function withoutLists(user: string, jwt: string, signer: KeyPair): Promise<string> {
  const { name, sub, nats } = decode<Account>(jwt);
  const everything = { pub: { allow: ['>'] }, sub: { allow: ['>'] } };
  const keys = (nats.signing_keys ?? []).map((key) =>
    typeof key === 'string' ? key : newScopedSigner(fromPublic(key.key), user, everything),
  );
  return await encodeAccount(name, fromPublic(sub), { ...nats, signing_keys: keys }, { signer });
}

async function storeOneOfEach(operator: NatsConnection): Promise<void> {
  const card = (kind: 'agent' | 'tool', name: string) =>
    `$KV.${names.cardBucket}.${names.cardKey(kind, name)}`;
  const subjects = [
    ...agents.flatMap((name) => [
      names.agentRun(name, 'victim'),
      names.operation(name, 'victim', 'client'),
      names.dead('agent', name),
      card('agent', name),
    ]),
    ...tools.flatMap((name) => [names.toolJob(name), card('tool', name)]),
  ];
  for (const subject of subjects) await operator.request(subject, 'stored');
}

/** The parts of JetStream's answers that the tests read. */
interface Answer {
  streams?: { config: { name: string } }[];
  consumers?: { name: string; config: { filter_subject: string } }[];
  state?: { subjects?: Record<string, number> };
  message?: { seq: number };
}

/** The messages of a stream under one subject. */
export interface Kept {
  count: number;
  lastSeq: number;
}

/** The contents of JetStream. */
export interface Contents {
  /** The names of all streams and consumers. */
  parts: string[];
  /** By subject. */
  messages: Map<string, Kept>;
}

export async function readContents(operator: NatsConnection): Promise<Contents> {
  const ask = async (verb: string, body: object = {}) =>
    (await operator.request(`$JS.API.${verb}`, JSON.stringify(body), { timeout: 10_000 })).json<Answer>();
  const { streams = [] } = await ask('STREAM.LIST');
  const contents: Contents = { parts: [], messages: new Map() };
  for (const { config } of streams) {
    const stream = config.name;
    const { consumers = [] } = await ask(`CONSUMER.LIST.${stream}`);
    contents.parts.push(stream, ...consumers.map((each) => `${stream} ${each.name}`));
    const { state } = await ask(`STREAM.INFO.${stream}`, { subjects_filter: '>' });
    const subjects = Object.entries(state?.subjects ?? {});
    await Promise.all(
      subjects.map(async ([subject, count]) => {
        const { message } = await ask(`STREAM.MSG.GET.${stream}`, { last_by_subj: subject });
        contents.messages.set(subject, { count, lastSeq: message?.seq ?? 0 });
      }),
    );
  }
  contents.parts.sort();
  return contents;
}
