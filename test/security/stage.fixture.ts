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
      names.operation(name, 'victim'),
      names.dead('agent', name),
      card('agent', name),
    ]),
    ...tools.flatMap((name) => [names.toolJob(name), card('tool', name)]),
  ];
  for (const subject of subjects) await operator.request(subject, 'stored');
}

/** A message in a stream. */
export interface Stored {
  stream: string;
  seq: number;
  subject: string;
  text: string;
}

/** The parts of JetStream's answers that the tests read. */
interface Answer {
  streams?: { config: { name: string }; state: { first_seq: number; last_seq: number } }[];
  consumers?: { name: string; config: { filter_subject: string } }[];
  message?: { subject: string; data?: string };
}

/** Returns the names of all streams and consumers, and all stored messages. */
export async function readStorage(
  operator: NatsConnection,
): Promise<{ parts: string[]; messages: Stored[] }> {
  const ask = async (verb: string, body: object = {}) =>
    (await operator.request(`$JS.API.${verb}`, JSON.stringify(body))).json<Answer>();
  const parts: string[] = [];
  const messages: Stored[] = [];
  const { streams = [] } = await ask('STREAM.LIST');
  for (const {
    config: { name: stream },
    state,
  } of streams) {
    const { consumers = [] } = await ask(`CONSUMER.LIST.${stream}`);
    parts.push(stream, ...consumers.map(({ name, config }) => `${stream} ${name} ${config.filter_subject}`));
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const { message } = await ask(`STREAM.MSG.GET.${stream}`, { seq });
      const text = Buffer.from(message?.data ?? '', 'base64').toString();
      if (message) messages.push({ stream, seq, subject: message.subject, text });
    }
  }
  return { parts: parts.sort(), messages };
}
