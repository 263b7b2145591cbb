import { MeshError } from '../errors/mesh-error.ts';
import { encodeName, encodeToken } from './token.ts';

/** Which session is meant. */
export interface SessionRef {
  appName: string;
  userId: string;
  sessionId: string;
}

export type ServiceKind = 'agent' | 'tool';

/** Work queues in JetStream: runs of an agent, updates of its long-running calls, jobs of a long-running tool. */
export type QueueKind = 'run' | 'operation' | 'job';

/** What a message is whose payload lies elsewhere: heard now or never, or kept in a queue until it is worked on. */
export type ClaimKind = 'news' | 'work';

/** A work queue by what lies in it and whose it is. */
export interface QueueName {
  kind: QueueKind;
  /** Of the agent, or of the tool. */
  name: string;
}

/** In place of a name or id: all of them, where a permission or a subscription means that. No text can be it: what comes from outside is encoded. */
export const every: unique symbol = Symbol('every');

type NameOrEvery = string | typeof every;

/** Every subject of the mesh in one namespace. Names and ids are encoded here and nowhere else. */
export function subjects(namespace = 'mesh') {
  if (!/^[a-z0-9_-]{1,32}$/.test(namespace)) {
    // Streams are called by it in capitals: two that differ in case alone would share one.
    throw new MeshError(
      'invalid_argument',
      `namespace ${JSON.stringify(namespace)}: use 1 to 32 lower-case letters, digits, _ or -`,
    );
  }
  const root = `${namespace}.v1`;
  const one = (id: NameOrEvery) => (id === every ? '*' : encodeToken(id));
  const named = (name: NameOrEvery) => (name === every ? '*' : encodeName(name));
  return {
    root,
    /** Run commands: a JetStream work queue. */
    agentRun: (agent: NameOrEvery) => `${root}.agent.${one(agent)}.run`,
    /** A question by any program: a request with a stream of frames, or one plain reply. */
    agentAsk: (agent: NameOrEvery) => `${root}.agent.${one(agent)}.ask`,
    /** An ask of an agent by another one: as its tool, or as a step of its workflow. Programs that are no agents may not send here. */
    agentDelegate: (agent: NameOrEvery) => `${root}.agent.${one(agent)}.delegate`,
    /** A call of a tool: a request with a stream of frames. */
    toolCall: (tool: NameOrEvery) => `${root}.tool.${named(tool)}.call`,
    /** The work of a long-running tool: a JetStream work queue. */
    toolJob: (tool: NameOrEvery) => `${root}.tool.${named(tool)}.job`,
    /** What is said from outside to a call that waits: a JetStream work queue of the agent's service that made it. */
    operation: (agent: NameOrEvery, callId: NameOrEvery) => `${root}.operation.${one(agent)}.${one(callId)}`,
    /** Every event of one invocation, as it happens. */
    invocationEvent: (invocationId: NameOrEvery) => `${root}.invocation.${one(invocationId)}.event`,
    /** Asks all who work on an invocation to end it. */
    invocationCancel: (invocationId: NameOrEvery) => `${root}.invocation.${one(invocationId)}.cancel`,
    /** What could not be worked on, with the reason: a JetStream stream, for operators. */
    dead: (kind: ServiceKind, name: NameOrEvery) => `${root}.dead.${kind}.${named(name)}`,
    /** The committed events of one session, for other services. */
    sessionEvent: (ref: SessionRef) =>
      `${root}.session.${one(ref.appName)}.${one(ref.userId)}.${one(ref.sessionId)}.event`,
    /** What begins to wait for an answer in one session, and what has got it: for mail, chat and the like. */
    sessionPending: (ref: SessionRef) =>
      `${root}.session.${one(ref.appName)}.${one(ref.userId)}.${one(ref.sessionId)}.pending`,
    /** The same of all sessions. */
    allSessionPending: `${root}.session.*.*.*.pending`,
    /** Asks what waits for an answer: a request, answered by gateways. */
    pending: `${root}.pending`,
    /** The committed events of all sessions: what an auditor subscribes to and an agent may publish to. */
    allSessionEvents: `${root}.session.*.*.*.event`,
    /** The JetStream stream of a kind of work: one durable consumer for each name. */
    workStream: (kind: QueueKind) => `${namespace.toUpperCase()}_${kind.toUpperCase()}`,
    /** The durable consumer of an agent's, or a tool's, queue in its stream. */
    workConsumer: (name: string) => encodeName(name),
    /** The subject, or the pattern of subjects, of what lies in a queue. */
    workSubject: (kind: QueueKind, name: NameOrEvery) =>
      ({
        run: `${root}.agent.${one(name)}.run`,
        operation: `${root}.operation.${one(name)}.*`,
        job: `${root}.tool.${named(name)}.job`,
      })[kind],
    /** The JetStream stream of dead letters. */
    deadStream: `${namespace.toUpperCase()}_DEAD`,
    /** The key-value bucket of cards. */
    cardBucket: `${namespace.toUpperCase()}_CARDS`,
    /** The object bucket of what artifacts hold, and the key-value bucket of what there are. */
    artifactBucket: `${namespace.toUpperCase()}_ARTIFACTS`,
    /** The object bucket of payloads that are too large for a message: of news, or of what lies in queues. */
    claimBucket: (kind: ClaimKind) => `${namespace.toUpperCase()}_CLAIMS_${kind.toUpperCase()}`,
    /** Key of a card in its bucket. */
    cardKey: (kind: ServiceKind, name: string) => `${kind}.${named(name)}`,
    /** Name under which a service answers the NATS services protocol, which knows no namespaces. */
    shownAs: (name: string) => (namespace === 'mesh' ? shownName(name) : `${namespace}-${shownName(name)}`),
    /** Prefix of a service's own inboxes; its NATS user may subscribe below it and nowhere else. */
    inboxPrefix: (service: string) => `_INBOX_${encodeName(service)}`,
  };
}

/**
 * The services protocol knows letters, digits, `_` and `-` alone. A name with other signs begins with `-`, as no name of ours does, and holds
 * `-HH` for each of them, and for `-` itself: different names never meet.
 */
function shownName(name: string): string {
  const token = encodeName(name);
  return token === name ? name : `-${token.replaceAll('-', '-2D').replaceAll('=', '-')}`;
}

export type Subjects = ReturnType<typeof subjects>;

/** How the messages of a subject travel, and who receives them. */
export interface SubjectKind {
  /** Without namespace and version; a name in angle brackets stands for one encoded token. */
  subject: string;
  carriedBy:
    | 'request, stream of frames'
    | 'request'
    | 'publish'
    | 'JetStream work queue'
    | 'JetStream stream';
  receivers: string;
}

/** Every subject that `subjects` makes; `docs/message-lifecycle.md` shows it. */
export const subjectTable: readonly SubjectKind[] = [
  row('agent.<agent>.run', 'JetStream work queue', 'one replica of the agent'),
  row('agent.<agent>.ask', 'request, stream of frames', 'one replica of the agent'),
  row('agent.<agent>.delegate', 'request, stream of frames', 'one replica of the agent'),
  row('tool.<tool>.call', 'request, stream of frames', 'one replica of the tool'),
  row('tool.<tool>.job', 'JetStream work queue', 'one replica of the tool'),
  row('operation.<agent>.<call>', 'JetStream work queue', 'one replica of the agent'),
  row('invocation.<id>.event', 'publish', 'everyone who watches the run'),
  row('invocation.<id>.cancel', 'publish', 'every process that works on the invocation'),
  row('dead.<kind>.<name>', 'JetStream stream', 'operators: `npm run mesh -- dead-letters`'),
  row('session.<app>.<user>.<session>.event', 'publish', 'other services: committed events only'),
  row('session.<app>.<user>.<session>.pending', 'publish', 'other services: questions and their answers'),
  row('pending', 'request', 'one gateway: lists the open questions'),
];

function row(subject: string, carriedBy: SubjectKind['carriedBy'], receivers: string): SubjectKind {
  return { subject, carriedBy, receivers };
}
