import { queueGroup } from '@agentmesh/bus';
import {
  every,
  everySession,
  type QueueName,
  type ServiceKind,
  type Subjects,
  subjects,
} from '@agentmesh/protocol';
import { matchesAny } from '../remote/mesh-toolset.ts';
import { treeOf } from '../remote/transfer-port.ts';
import { artifactRights, cardRights, claimRights } from './bucket-rights.ts';
import { keeperRequests, secretRequests } from './keeper-rights.ts';
import { busName, gatewayManifest, type ServiceManifest } from './service-manifest.ts';

/** The rights of a service on the bus, by the way in which the messages travel. */
export interface Rights {
  /** The subjects of JetStream and of its streams to which the service sends. */
  storage: string[];
  /** The requests that the service sends. */
  requests: string[];
  /** The requests that one replica of the service answers. */
  answers: string[];
  /** The requests of the NATS services protocol, which each replica answers. */
  discovery: string[];
  /** The news that the service publishes. */
  news: string[];
  /** The news that the service may hear. */
  hears: string[];
}

const noRights: Rights = { storage: [], requests: [], answers: [], discovery: [], news: [], hears: [] };

/**
 * Returns the least rights with which a service can do its work. `all` tells which agents may hand a
 * conversation back to which.
 */
export function rightsOf(
  manifest: ServiceManifest,
  all: readonly ServiceManifest[],
  namespace?: string,
): Rights {
  const names = subjects(namespace);
  switch (manifest.kind) {
    case 'operator':
      return operatorRights(names, manifest);
    case 'client':
      return clientRights(names, manifest);
    case 'publisher':
      return publisherRights(names, manifest);
    case 'gateway':
      return gatewayRights(names, manifest, all);
    case 'keeper':
      return keeperRights(names, manifest, all);
    case 'tool':
      return toolRights(names, manifest, all);
    case 'agent':
      return agentRights(names, manifest, all);
  }
}

/** The operator works in the account of JetStream, where everything is allowed. */
function operatorRights(names: Subjects, manifest: ServiceManifest): Rights {
  return {
    ...noRights,
    // One question for each service: nats-server compares all imports of an account with each other.
    requests: ['$SRV.PING.*'],
    // The server publishes the changes of cards.
    news: [...newsOf(names, manifest), names.allCardNews],
  };
}

function clientRights(names: Subjects, manifest: ServiceManifest): Rights {
  return {
    ...noRights,
    storage: [
      names.agentRun(every, every),
      names.operation(every, every, busName(manifest)),
      ...claimRights(names),
    ],
    requests: [names.agentAsk(every), names.pending],
    news: [names.invocationCancel(every, busName(manifest))],
    hears: [names.invocationWatch(everySession, every), names.sessionPending(everySession, every)],
  };
}

/** A publisher gives runs to agents and asks them. It reads no large payloads, and answers no questions. */
function publisherRights(names: Subjects, { asks, listens = false }: ServiceManifest): Rights {
  const agents = asks.map((name) => (name === '*' ? every : name));
  return {
    ...noRights,
    storage: agents.map((agent) => names.agentRun(agent, every)),
    requests: agents.map((agent) => names.agentAsk(agent)),
    hears: listens ? [names.sessionEvent(everySession, every, every)] : [],
  };
}

function gatewayRights(names: Subjects, manifest: ServiceManifest, all: readonly ServiceManifest[]): Rights {
  return {
    storage: [
      names.agentRun(every, every),
      names.audit(busName(manifest)),
      ...cardRights(names),
      ...artifactRights(names),
      ...claimRights(names),
      ...observerRights(names),
    ],
    requests: ['$SRV.PING.*', ...secretRequests(names, manifest, all)],
    answers: [names.pending],
    discovery: discoveryOf(names, manifest),
    news: newsOf(names, manifest),
    hears: [names.invocationWatch(everySession, every), names.allCardNews],
  };
}

/**
 * Returns the rights for the pages of operators: to read the figures of the work queues and the age of their oldest
 * messages, and to read and remove dead letters.
 */
function observerRights({ workStream, deadStream }: Subjects): string[] {
  const [run, operation, job] = [workStream('run'), workStream('operation'), workStream('job')];
  return [
    ...[run, operation, job].map((stream) => `$JS.API.CONSUMER.LIST.${stream}`),
    ...[run, job].map((stream) => `$JS.API.STREAM.MSG.GET.${stream}`),
    ...['INFO', 'MSG.GET', 'MSG.DELETE'].map((verb) => `$JS.API.STREAM.${verb}.${deadStream}`),
  ];
}

/** A keeper answers each service under its own subject, which no other service may import. */
function keeperRights(names: Subjects, manifest: ServiceManifest, all: readonly ServiceManifest[]): Rights {
  return {
    ...noRights,
    storage: [...artifactRights(names), ...claimRights(names)],
    answers: [gatewayManifest, ...all].flatMap((each) => keeperRequests(names, each, all)),
    discovery: discoveryOf(names, manifest),
  };
}

function toolRights(names: Subjects, manifest: ServiceManifest, all: readonly ServiceManifest[]): Rights {
  const { name, longRunning } = manifest;
  return {
    storage: [
      ownCard(names, 'tool', name),
      ...claimRights(names),
      // The agent takes the updates of a tool for its own calls only; no other tool needs this right.
      ...(longRunning ? jobRights(names, manifest, all) : []),
    ],
    // Needed to find out whether another replica that has begun a call or a job is gone.
    requests: [`$SRV.PING.${names.shownAs(name)}.*`, ...keeperRequests(names, manifest, all)],
    answers: [names.toolCall(name)],
    discovery: discoveryOf(names, manifest),
    news: [],
    hears: [names.invocationCancel(every, every)],
  };
}

function agentRights(names: Subjects, manifest: ServiceManifest, all: readonly ServiceManifest[]): Rights {
  const { name, asks } = manifest;
  const tree = handsOverTo(manifest, all);
  return {
    storage: [
      ownCard(names, 'agent', name),
      ...cardRights(names),
      ...claimRights(names),
      // The service that ends an invocation publishes the next run of the session: a run of its own agent or
      // of another agent of the tree.
      ...[name, ...tree].map((to) => names.agentRun(to, every)),
      names.dead('agent', name),
      names.audit(busName(manifest)),
      ...queueRights(names, { kind: 'run', name }),
      // Finds earlier runs of a session. NATS cannot limit this right to the runs of some agents.
      `$JS.API.STREAM.MSG.GET.${names.workStream('run')}`,
      ...queueRights(names, { kind: 'operation', name }),
    ],
    requests: [
      // An agent that is asked hands over to the agents of its tree too, and waits for their answer.
      ...[...new Set([...asks, ...tree])].map((to) => names.agentDelegate(to)),
      ...callsTo(manifest, all).map((to) => names.toolCall(to)),
      ...keeperRequests(names, manifest, all),
      // Needed to find out whether another agent that claims the same app is up, and which of the offered
      // tools are.
      '$SRV.PING.*',
    ],
    answers: [names.agentAsk(name), names.agentDelegate(name)],
    discovery: discoveryOf(names, manifest),
    news: [
      ...newsOf(names, manifest),
      names.sessionEvent(everySession, every, busName(manifest)),
      names.sessionPending(everySession, busName(manifest)),
    ],
    hears: [names.invocationCancel(every, every), names.allCardNews],
  };
}

/** Returns the news about invocations, which a service publishes under its own name. */
function newsOf(names: Subjects, manifest: ServiceManifest): string[] {
  const service = busName(manifest);
  return [names.sessionNews(everySession, every, service), names.invocationCancel(every, service)];
}

function discoveryOf(names: Subjects, { name }: ServiceManifest): string[] {
  return ['PING', 'INFO', 'STATS'].flatMap((verb) => {
    const subject = `$SRV.${verb}`;
    return [subject, `${subject}.${names.shownAs(name)}`, `${subject}.${names.shownAs(name)}.>`];
  });
}

function ownCard({ cardBucket, cardKey }: Subjects, kind: ServiceKind, name: string): string {
  return `$KV.${cardBucket}.${cardKey(kind, name)}`;
}

/** The subjects on which a NATS user may publish, and to which it may subscribe. */
export interface Permissions {
  publish: string[];
  subscribe: string[];
}

/**
 * Returns the subjects of a service's user. Its account alone keeps it apart from other services; with these
 * lists the server refuses a forbidden subject by an error, where it would otherwise drop the message.
 */
export function permissionsOf(
  manifest: ServiceManifest,
  all: readonly ServiceManifest[],
  namespace?: string,
): Permissions {
  const { storage, requests, answers, discovery, news, hears } = rightsOf(manifest, all, namespace);
  const inbox = `${subjects(namespace).inboxPrefix(busName(manifest))}.>`;
  // Replicas of the service ask by the inbox; for callers in other accounts the server makes a stand-in.
  const replies = discovery.length > 0 ? [inbox, '_R_.>'] : [];
  // Two subscriptions of a keeper hear all services; which service may ask is a matter of the links.
  const { keeper, secret } = subjects(namespace);
  const heard = manifest.kind === 'keeper' ? [keeper(every), secret(every, every)] : answers;
  return {
    publish: [...storage, ...requests, ...news, ...replies],
    subscribe: [...heard.map((subject) => `${subject} ${queueGroup}`), ...discovery, ...hears, inbox],
  };
}

/** Returns the other agents of a service's tree: a tool may transfer to any of them. */
function handsOverTo({ name }: ServiceManifest, all: readonly ServiceManifest[]): string[] {
  const agents = all.filter(({ kind }) => kind === 'agent');
  const tree = treeOf(
    agents.map((each) => ({ name: each.name, subAgents: each.transfers })),
    name,
  );
  return [...tree].filter((to) => to !== name);
}

/**
 * Returns the tools that the manifest names, and the known tools that match its patterns: NATS has no
 * patterns within a name.
 */
export function callsTo(
  { calls, offers = [] }: ServiceManifest,
  all: readonly ServiceManifest[],
): (string | typeof every)[] {
  if (offers.includes('*')) return [every];
  const offered = all.filter(({ kind, name }) => kind === 'tool' && matchesAny(offers, name));
  return [...new Set([...calls, ...offered.map(({ name }) => name)])];
}

function jobRights(names: Subjects, manifest: ServiceManifest, all: readonly ServiceManifest[]): string[] {
  const { name } = manifest;
  return [
    names.toolJob(name),
    ...callersOf(manifest, all).map((agent) => names.operation(agent, every, busName(manifest))),
    names.dead('tool', name),
    ...queueRights(names, { kind: 'job', name }),
  ];
}

/** Returns the agents that may call a tool: the tool publishes updates of its long-running calls to them. */
function callersOf({ name }: ServiceManifest, all: readonly ServiceManifest[]): string[] {
  const agents = all.filter(({ kind }) => kind === 'agent');
  return agents
    .filter(({ calls, offers = [] }) => calls.includes(name) || matchesAny(offers, name))
    .map((agent) => agent.name);
}

function queueRights({ workStream, workConsumer }: Subjects, { kind, name }: QueueName): string[] {
  const consumer = `${workStream(kind)}.${workConsumer(name)}`;
  return [
    `$JS.API.CONSUMER.INFO.${consumer}`,
    `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
    `$JS.ACK.${consumer}.>`,
  ];
}
