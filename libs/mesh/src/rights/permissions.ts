import type { BaseAgent, BaseTool } from '@agentmesh/agent';
import { queueGroup } from '@agentmesh/bus';
import { every, type QueueName, type ServiceKind, type Subjects, subjects } from '@agentmesh/protocol';
import { serviceName } from '../mesh/service-name.ts';
import { matchesAny } from '../remote/mesh-toolset.ts';
import { remotesOf } from '../remote/remotes.ts';
import { treeOf } from '../remote/transfer-port.ts';

/** The facts about a service on which its rights on the bus depend. */
export interface ServiceManifest {
  kind: ServiceKind | 'gateway' | 'client';
  name: string;
  /** Agents to which the service transfers. */
  transfers: string[];
  /** Agents that the service asks. */
  asks: string[];
  /** Tools that the service calls. */
  calls: string[];
  /** Patterns of tools that the service calls when they are up (`MeshToolset`). */
  offers?: string[];
  /** True for a tool with jobs, which publishes updates to its callers. */
  longRunning?: boolean;
}

/** Returns the manifest of an agent: its remote sub-agents, agents used as tools, and tools. */
export function agentManifest(agent: BaseAgent): ServiceManifest {
  const { transfers, asks, tools, toolsets } = remotesOf(agent);
  const names = (each: readonly { name: string }[]) => [...new Set(each.map(({ name }) => name))];
  return {
    kind: 'agent',
    name: agent.name,
    transfers: names(transfers),
    asks: names(asks),
    calls: names(tools),
    offers: [...new Set(toolsets.flatMap((toolset) => toolset.names))],
  };
}

export function toolManifest({ name, isLongRunning: longRunning }: BaseTool): ServiceManifest {
  return { kind: 'tool', name, transfers: [], asks: [], calls: [], longRunning };
}

/** The gateway sends messages to any agent and watches any invocation. */
export const gatewayManifest: ServiceManifest = {
  kind: 'gateway',
  name: 'gateway',
  transfers: ['*'],
  asks: [],
  calls: [],
};

/** Any other program that asks agents, gives them runs, and listens to sessions. */
export const clientManifest: ServiceManifest = {
  kind: 'client',
  name: 'client',
  transfers: ['*'],
  asks: ['*'],
  calls: [],
};

/** Returns the name of a service on the bus: the name of its NATS user and of its inboxes. */
export function busName({ kind, name }: Pick<ServiceManifest, 'kind' | 'name'>): string {
  return kind === 'agent' || kind === 'tool' ? serviceName(kind, name) : name;
}

export interface Permissions {
  publish: string[];
  subscribe: string[];
  /** True if the service may answer requests, with any number of frames. */
  answers: boolean;
}

/**
 * Returns the least rights with which a service can do its work. `all` tells which agents may hand a
 * conversation back to which.
 */
export function permissionsOf(
  manifest: ServiceManifest,
  all: readonly ServiceManifest[],
  namespace?: string,
): Permissions {
  const names = subjects(namespace);
  const { kind, name } = manifest;
  const inbox = `${names.inboxPrefix(busName(manifest))}.>`;
  if (kind === 'client') {
    return {
      publish: [
        names.agentRun(every, every),
        names.agentAsk(every),
        names.operation(every, every),
        names.pending,
        names.invocationCancel(every),
        ...claimRights(names),
      ],
      subscribe: [names.allSessionEvents, names.allSessionPending, names.invocationEvent(every), inbox],
      answers: false,
    };
  }
  const discovery = ['PING', 'INFO', 'STATS'].flatMap((verb) => {
    const subject = `$SRV.${verb}`;
    return [subject, `${subject}.${names.shownAs(name)}`, `${subject}.${names.shownAs(name)}.>`];
  });
  const cards = cardRights(names);
  if (kind === 'gateway') {
    return {
      publish: [
        names.agentRun(every, every),
        names.invocationCancel(every),
        names.invocationEvent(every),
        '$SRV.PING.>',
        ...cards.publish,
        ...artifactRights(names),
        ...claimRights(names),
      ],
      subscribe: [
        names.invocationEvent(every),
        `${names.pending} ${queueGroup}`,
        inbox,
        ...discovery,
        ...cards.subscribe,
      ],
      answers: true,
    };
  }
  const announces = `$KV.${names.cardBucket}.${names.cardKey(kind, name)}`;
  if (kind === 'tool') {
    return {
      publish: [
        announces,
        // Needed to find out whether another replica that has begun a call or a job is gone.
        `$SRV.PING.${names.shownAs(name)}.*`,
        ...artifactRights(names),
        ...claimRights(names),
        // A service that may publish an outcome may answer any call of that agent, so no other tool gets this
        // right.
        ...(manifest.longRunning ? jobRights(names, manifest, all) : []),
      ],
      subscribe: [
        `${names.toolCall(name)} ${queueGroup}`,
        names.invocationCancel(every),
        inbox,
        ...discovery,
      ],
      answers: true,
    };
  }
  return {
    publish: [
      announces,
      ...cards.publish,
      ...artifactRights(names),
      ...claimRights(names),
      // The service that ends an invocation publishes the next run of the session: a run of its own agent or
      // of another agent of the tree.
      ...[name, ...handsOverTo(manifest, all)].map((to) => names.agentRun(to, every)),
      // An agent that is asked hands over to these agents too, and waits for their answer.
      ...[...new Set([...manifest.asks, ...handsOverTo(manifest, all)])].map((to) => names.agentDelegate(to)),
      ...callsTo(manifest, all).map((to) => names.toolCall(to)),
      // Needed to find out whether another agent that claims the same app is up, and which of the offered
      // tools are.
      '$SRV.PING.*',
      names.invocationEvent(every),
      names.invocationCancel(every),
      names.allSessionEvents,
      names.allSessionPending,
      names.dead('agent', name),
      ...queueRights(names, { kind: 'run', name }),
      // Finds earlier runs of a session. NATS cannot limit this right to the runs of some agents.
      `$JS.API.STREAM.MSG.GET.${names.workStream('run')}`,
      ...queueRights(names, { kind: 'operation', name }),
    ],
    subscribe: [
      `${names.agentAsk(name)} ${queueGroup}`,
      `${names.agentDelegate(name)} ${queueGroup}`,
      names.invocationCancel(every),
      inbox,
      ...discovery,
      ...cards.subscribe,
    ],
    answers: true,
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
function callsTo(
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
    ...callersOf(manifest, all).map((agent) => names.operation(agent, every)),
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

/**
 * Returns the rights to read cards, without a consumer: a service that may make consumers may have the server
 * deliver to any subject.
 */
function cardRights({ cardBucket, allCardNews }: Subjects) {
  const stream = `KV_${cardBucket}`;
  return {
    publish: [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`],
    subscribe: [allCardNews],
  };
}

/**
 * Returns the rights to use any file of any user: the processes know the owner of a file, NATS does not. No
 * process may make or delete streams, or make consumers.
 */
function artifactRights({ artifactBucket }: Subjects): string[] {
  return [
    `$KV.${artifactBucket}.>`,
    ...streamRights(`KV_${artifactBucket}`),
    ...objectRights(artifactBucket),
  ];
}

/**
 * Returns the rights to use claims: any message that a service sends or receives may be too large for the
 * bus.
 */
function claimRights({ claimBucket }: Subjects): string[] {
  return [claimBucket('news'), claimBucket('work')].flatMap(objectRights);
}

function objectRights(bucket: string): string[] {
  return [`$O.${bucket}.C.*`, `$O.${bucket}.M.*`, ...streamRights(`OBJ_${bucket}`)];
}

function streamRights(stream: string): string[] {
  return ['INFO', 'MSG.GET', 'PURGE'].map((verb) => `$JS.API.STREAM.${verb}.${stream}`);
}

function queueRights({ workStream, workConsumer }: Subjects, { kind, name }: QueueName): string[] {
  const consumer = `${workStream(kind)}.${workConsumer(name)}`;
  return [
    `$JS.API.CONSUMER.INFO.${consumer}`,
    `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
    `$JS.ACK.${consumer}.>`,
  ];
}
