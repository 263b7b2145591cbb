import { MeshError } from '../errors/mesh-error.ts';
import { starterOf } from './starter.ts';
import { decodeToken, encodeName, encodeToken } from './token.ts';

/** The three names that identify a session. */
export interface SessionRef {
  appName: string;
  userId: string;
  sessionId: string;
}

export type ServiceKind = 'agent' | 'tool';

/**
 * The kinds of work queues in JetStream: runs of an agent, updates of its long-running calls, jobs of a
 * long-running tool.
 */
export type QueueKind = 'run' | 'operation' | 'job';

/**
 * The kind of a message with a claim: news, which only current listeners get, or work, which stays in a queue
 * until it is done.
 */
export type ClaimKind = 'news' | 'work';

/** The name of a work queue: its kind and its owner. */
export interface QueueName {
  kind: QueueKind;
  /** The name of the agent or of the tool. */
  name: string;
}

/** The last token of the subject of a run command that names no session: the run gets a new one. */
export const newSession = 'new';

/**
 * The wildcard in place of a name or id, for permissions and subscriptions. It is a symbol, so that no text
 * from outside can be a wildcard.
 */
export const every: unique symbol = Symbol('every');

export type NameOrEvery = string | typeof every;

/** A session, or the sessions of a user, of an app, or of all apps. */
export type Sessions = { readonly [Name in keyof SessionRef]: NameOrEvery };

/** All sessions of all apps. */
export const everySession: Sessions = { appName: every, userId: every, sessionId: every };

/** Makes all subjects of the mesh in one namespace. Names and ids are encoded only here. */
export function subjects(namespace = 'mesh') {
  if (!/^[a-z0-9_-]{1,32}$/.test(namespace)) {
    // The names of streams hold the namespace in capitals: two namespaces that differ only in case would
    // share streams.
    throw new MeshError(
      'invalid_argument',
      `namespace ${JSON.stringify(namespace)}: use 1 to 32 lower-case letters, digits, _ or -`,
    );
  }
  const root = `${namespace}.v1`;
  const one = (id: NameOrEvery) => (id === every ? '*' : encodeToken(id));
  const named = (name: NameOrEvery) => (name === every ? '*' : encodeName(name));
  /** The tokens of an invocation: the process that started it, and its id. */
  const run = (id: NameOrEvery) => (id === every ? '*.*' : `${starterOf(id)}.${one(id)}`);
  const session = ({ appName, userId, sessionId }: Sessions) =>
    `${root}.session.${one(appName)}.${one(userId)}.${one(sessionId)}`;
  return {
    root,
    /**
     * For run commands: a JetStream work queue. All commands of one session have one last token, by which a
     * replica finds the earlier ones; {@link newSession} is the token of commands that make a session.
     */
    agentRun: (agent: NameOrEvery, session: NameOrEvery) => `${root}.agent.${one(agent)}.run.${one(session)}`,
    /** For an ask by any program: a request with a stream of frames, or one plain reply. */
    agentAsk: (agent: NameOrEvery) => `${root}.agent.${one(agent)}.ask`,
    /**
     * For an ask by another agent, for its tool call or a step of its workflow. Only agents may send here.
     */
    agentDelegate: (agent: NameOrEvery) => `${root}.agent.${one(agent)}.delegate`,
    /** For a call of a tool: a request with a stream of frames. */
    toolCall: (tool: NameOrEvery) => `${root}.tool.${named(tool)}.call`,
    /** For the jobs of a long-running tool: a JetStream work queue. */
    toolJob: (tool: NameOrEvery) => `${root}.tool.${named(tool)}.job`,
    /**
     * For updates of a pending call: a JetStream work queue of the agent's service that made the call. The
     * last token names the service that publishes the update: a service may publish only under its own name.
     */
    operation: (agent: NameOrEvery, callId: NameOrEvery, service: NameOrEvery) =>
      `${root}.operation.${one(agent)}.${one(callId)}.${named(service)}`,
    /**
     * For the committed events of a session. The last tokens name the process that started the invocation, the
     * invocation, and the service that publishes the event: a service may publish only under its own name.
     */
    sessionEvent: (ref: Sessions, invocationId: NameOrEvery, service: NameOrEvery) =>
      `${session(ref)}.event.${run(invocationId)}.${named(service)}`,
    /** For pieces of events as they arrive, and for the ends of runs. The tokens are those of events. */
    sessionNews: (ref: Sessions, invocationId: NameOrEvery, service: NameOrEvery) =>
      `${session(ref)}.news.${run(invocationId)}.${named(service)}`,
    /** The pattern of all events and news of an invocation in a session. */
    invocationWatch: (ref: Sessions, invocationId: NameOrEvery) => `${session(ref)}.*.${run(invocationId)}.*`,
    /** The pattern of all events and news of the invocations that a process started. */
    starterWatch: (starter: string) => `${session(everySession)}.*.${starter}.*.*`,
    /** For the request to all processes that work on an invocation to end it. The last token is as for events. */
    invocationCancel: (invocationId: NameOrEvery, service: NameOrEvery) =>
      `${root}.invocation.${one(invocationId)}.cancel.${named(service)}`,
    /**
     * For dead letters: a JetStream stream, for operators. A service writes under its own kind and name. Only the
     * operator writes under `operator`, with the name of the service that did not take the message.
     */
    dead: (writer: ServiceKind | 'operator', name: NameOrEvery) => `${root}.dead.${writer}.${named(name)}`,
    /** For security decisions: a JetStream stream, for operators. A service publishes under its own name. */
    audit: (service: NameOrEvery) => `${root}.audit.${named(service)}`,
    /**
     * For news about the pending calls of one session, for programs such as mail and chat. The last token names
     * the service that publishes.
     */
    sessionPending: (ref: Sessions, service: NameOrEvery) => `${session(ref)}.pending.${named(service)}`,
    /** For a request for pending calls, which gateways answer. */
    pending: `${root}.pending`,
    /**
     * For a request for files, which keepers answer. The last token names the service that asks: a service may
     * ask only under its own name.
     */
    keeper: (service: NameOrEvery) => `${root}.keeper.${named(service)}`,
    /**
     * For a request to open or seal a secret, which keepers answer. The last tokens name the service that asks
     * and the right that it uses: a service may ask only under its own name, and with the rights of its definition.
     */
    secret: (service: NameOrEvery, right: NameOrEvery) => `${root}.secret.${named(service)}.${one(right)}`,
    /** The JetStream stream of a kind of work: one durable consumer for each name. */
    workStream: (kind: QueueKind) => `${namespace.toUpperCase()}_${kind.toUpperCase()}`,
    /** The durable consumer for the queue of an agent or a tool in its stream. */
    workConsumer: (name: string) => encodeName(name),
    /** The subject of the messages in a queue, or the pattern of their subjects. */
    workSubject: (kind: QueueKind, name: NameOrEvery) =>
      ({
        run: `${root}.agent.${one(name)}.run.*`,
        operation: `${root}.operation.${one(name)}.*.*`,
        job: `${root}.tool.${named(name)}.job`,
      })[kind],
    /** The JetStream stream of dead letters. */
    deadStream: `${namespace.toUpperCase()}_DEAD`,
    /** The JetStream stream of security decisions. */
    auditStream: `${namespace.toUpperCase()}_AUDIT`,
    /** The JetStream stream that an operator makes and removes, to see whether NATS can write. */
    probeStream: `${namespace.toUpperCase()}_PROBE`,
    /** The key-value bucket of cards. */
    cardBucket: `${namespace.toUpperCase()}_CARDS`,
    /** The object bucket with the bytes of artifacts, and the key-value bucket with their versions. */
    artifactBucket: `${namespace.toUpperCase()}_ARTIFACTS`,
    /**
     * The object bucket of payloads that are too large for a message: payloads of news, or payloads of work.
     */
    claimBucket: (kind: ClaimKind) => `${namespace.toUpperCase()}_CLAIMS_${kind.toUpperCase()}`,
    /** For the changes of all cards. The server publishes a change when it is stored, under the card's key. */
    allCardNews: `${root}.card.>`,
    /** The key of a card in its bucket. */
    cardKey: (kind: ServiceKind, name: string) => `${kind}.${named(name)}`,
    /** The key of the record of a provisioned agent, in the bucket of cards. Only the operator writes there. */
    provisionedKey: (agent: string) => `provisioned.agent.${named(agent)}`,
    /** The name of a service in the NATS services protocol, which has no namespaces. */
    shownAs: (name: string) => (namespace === 'mesh' ? shownName(name) : `${namespace}-${shownName(name)}`),
    /** The prefix of a service's inboxes. Its NATS user may subscribe to no other inbox. */
    inboxPrefix: (service: string) => `_INBOX_${encodeName(service)}`,
  };
}

/**
 * Returns a name in the characters of the services protocol, which are letters, digits, `_` and `-`. A name
 * with other characters begins with `-`, as no name of ours does, and holds `-HH` for each of them and for
 * `-` itself, so that different names stay different.
 */
function shownName(name: string): string {
  const token = encodeName(name);
  return token === name ? name : `-${token.replaceAll('-', '-2D').replaceAll('=', '-')}`;
}

/** Returns the call and the publisher that the subject of an update names. */
export function readOperation(subject: string): { callId: string; service: string } {
  const [callId = '', service = ''] = subject.split('.').slice(-2).map(decodeToken);
  return { callId, service };
}

/** Returns the session, the invocation and the publisher that the subject of an event or of news names. */
export function readEventSubject(subject: string): SessionRef & { invocationId: string; service: string } {
  const [app = '', user = '', session = '', , , invocationId = '', service = ''] = subject
    .split('.')
    .slice(-7)
    .map(decodeToken);
  return { appName: app, userId: user, sessionId: session, invocationId, service };
}

/** Returns the pattern of {@link Subjects.invocationWatch} that the subject of an event or of news matches. */
export function watchOf(subject: string): string {
  const tokens = subject.split('.');
  return [...tokens.slice(0, 6), '*', ...tokens.slice(7, 9), '*'].join('.');
}

/** Returns the service that the subject of a request to keepers names. */
export function readKeeperSubject(subject: string): string {
  return decodeToken(subject.slice(subject.lastIndexOf('.') + 1));
}

/** Returns the service and the right that the subject of a request for secrets names. */
export function readSecretSubject(subject: string): { service: string; right: string } {
  const [service = '', right = ''] = subject.split('.').slice(-2).map(decodeToken);
  return { service, right };
}

export type Subjects = ReturnType<typeof subjects>;

/** The way in which the messages of a subject travel, and their receivers. */
export interface SubjectKind {
  /** The subject without namespace and version. A name in angle brackets stands for one encoded token. */
  subject: string;
  carriedBy:
    | 'request, stream of frames'
    | 'request'
    | 'publish'
    | 'JetStream work queue'
    | 'JetStream stream';
  receivers: string;
}

/** All subjects that `subjects` makes, as `docs/message-lifecycle.md` shows them. */
export const subjectTable: readonly SubjectKind[] = [
  row('agent.<agent>.run.<session>', 'JetStream work queue', 'one replica of the agent'),
  row('agent.<agent>.ask', 'request, stream of frames', 'one replica of the agent'),
  row('agent.<agent>.delegate', 'request, stream of frames', 'one replica of the agent'),
  row('tool.<tool>.call', 'request, stream of frames', 'one replica of the tool'),
  row('tool.<tool>.job', 'JetStream work queue', 'one replica of the tool'),
  row('operation.<agent>.<call>.<service>', 'JetStream work queue', 'one replica of the agent'),
  row('invocation.<id>.cancel.<service>', 'publish', 'every process that works on the invocation'),
  row('dead.<kind>.<name>', 'JetStream stream', 'operators: `npm run mesh -- dead-letters`'),
  row('audit.<service>', 'JetStream stream', 'operators: security decisions'),
  row(
    'session.<app>.<user>.<session>.event.<starter>.<invocation>.<service>',
    'publish',
    'everyone who watches the run, and other services: committed events only',
  ),
  row(
    'session.<app>.<user>.<session>.news.<starter>.<invocation>.<service>',
    'publish',
    'everyone who watches the run: pieces of events, and the end of the run',
  ),
  row(
    'session.<app>.<user>.<session>.pending.<service>',
    'publish',
    'other services: pending calls and their answers',
  ),
  row('card.>', 'publish', 'every process that reads cards: the server publishes what changed'),
  row('pending', 'request', 'one gateway: lists the pending calls'),
  row('keeper.<service>', 'request', 'one keeper: reads and writes files for work in hand'),
  row('secret.<service>.<right>', 'request', 'one keeper: opens and seals credentials for work in hand'),
];

function row(subject: string, carriedBy: SubjectKind['carriedBy'], receivers: string): SubjectKind {
  return { subject, carriedBy, receivers };
}
