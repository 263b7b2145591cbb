import { provision } from '@agentmesh/bus';
import { samples } from '@agentmesh/deploy/samples';
import { busName, clientManifest, gatewayManifest, natsAccounts, provisionUser } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { connect, type NatsConnection } from '@nats-io/transport-node';

export const names = subjects();
export const services = samples.map(({ manifest }) => manifest);
/** The users of the gateway, of other programs, and of all sample services. */
export const users = [gatewayManifest, clientManifest, ...services].map(busName);
export const agents = services.filter(({ kind }) => kind === 'agent').map(({ name }) => name);
export const tools = services.filter(({ kind }) => kind === 'tool').map(({ name }) => name);
/** The name of the user is its password. */
const passwordOf = (user: string) => user;

/**
 * The accounts of all samples without the lists of permitted subjects: the attacks meet only the borders of
 * the accounts. The lists would refuse most attacks by an error before they reach a border.
 */
export const accountsAlone = natsAccounts({ services, password: passwordOf }).replaceAll(
  /, permissions: \{\n[^\n]*\n[^\n]*\n {4}\}/g,
  '',
);

export interface Stage extends AsyncDisposable {
  /** Opens a plain connection as a user. */
  login(user: string): Promise<NatsConnection>;
  /** A connection of the operator, who may do everything in the account of JetStream. */
  readonly operator: NatsConnection;
}

/** Starts NATS with provisioned streams, and stores a run, an update, a job and a card for each service. */
export async function startStage(configuration: string): Promise<Stage> {
  await using owners = new AsyncDisposableStack();
  let stack: AsyncDisposableStack = owners;
  const server = owners.use(await startNats({ configuration }));
  const login = async (user: string) => {
    const inboxPrefix = names.inboxPrefix(user);
    const connection = await connect({ servers: server.url, user, pass: passwordOf(user), inboxPrefix });
    stack.defer(() => connection.close());
    return connection;
  };
  const address = { url: server.url, user: provisionUser, pass: passwordOf(provisionUser) };
  await provision({ ...address, agents, tools, storage: 'memory' });
  const operator = await login(provisionUser);
  await storeOneOfEach(operator);
  stack = owners.move();
  return { login, operator, [Symbol.asyncDispose]: () => stack.disposeAsync() };
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
