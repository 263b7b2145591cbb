import type { BaseAgent, BaseTool } from '@agentmesh/agent';
import { queueGroup } from '@agentmesh/bus';
import { every, type QueueName, type ServiceKind, type Subjects, subjects } from '@agentmesh/protocol';
import { serviceName } from '../mesh/service-name.ts';
import { matchesAny } from '../remote/mesh-toolset.ts';
import { remotesOf } from '../remote/remotes.ts';
import { treeOf } from '../remote/transfer-port.ts';

/** What a service does on the bus, as far as its rights depend on it. */
export interface ServiceManifest {
  kind: ServiceKind | 'gateway' | 'client';
  name: string;
  /** Agents it transfers to. */
  transfers: string[];
  /** Agents it asks. */
  asks: string[];
  /** Tools it calls. */
  calls: string[];
  /** Patterns of tools that it calls when they are there (`MeshToolset`). */
  offers?: string[];
  /** A tool with jobs, which tells those who call it how far they are. */
  longRunning?: boolean;
}

/** Reads off an agent what it needs: its remote sub-agents, agents used as tools, and tools. */
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

/** A gateway gives messages to any agent and watches any invocation. */
export const gatewayManifest: ServiceManifest = {
  kind: 'gateway',
  name: 'gateway',
  transfers: ['*'],
  asks: [],
  calls: [],
};

/** Any other program that asks agents, gives them runs, and listens to what happens in sessions. */
export const clientManifest: ServiceManifest = {
  kind: 'client',
  name: 'client',
  transfers: ['*'],
  asks: ['*'],
  calls: [],
};

/** Name of a service on the bus: of its NATS user and of its inboxes. */
export function busName({ kind, name }: Pick<ServiceManifest, 'kind' | 'name'>): string {
  return kind === 'agent' || kind === 'tool' ? serviceName(kind, name) : name;
}

export interface Permissions {
  publish: string[];
  subscribe: string[];
  /** May it answer requests? As many frames as it takes, to those who asked. */
  answers: boolean;
}

/** The least rights with which a service can do its work; `all` tells who may hand a conversation back to whom. */
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
        names.agentRun(every),
        names.agentAsk(every),
        names.operation(every, every),
        names.pending,
        names.invocationCancel(every),
        ...claiming(names),
      ],
      subscribe: [names.allSessionEvents, names.allSessionPending, names.invocationEvent(every), inbox],
      answers: false,
    };
  }
  const shown = ['PING', 'INFO', 'STATS'].flatMap((verb) => {
    const subject = `$SRV.${verb}`;
    return [subject, `${subject}.${names.shownAs(name)}`, `${subject}.${names.shownAs(name)}.>`];
  });
  const cards = cardReading(names);
  if (kind === 'gateway') {
    return {
      publish: [
        names.agentRun(every),
        names.invocationCancel(every),
        names.invocationEvent(every),
        '$SRV.PING.>',
        ...cards.publish,
        ...artifactUse(names),
        ...claiming(names),
      ],
      subscribe: [
        names.invocationEvent(every),
        `${names.pending} ${queueGroup}`,
        inbox,
        ...shown,
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
        ...artifactUse(names),
        ...claiming(names),
        // Whoever may publish an outcome may answer any call of that agent: no tool that need not.
        ...(manifest.longRunning ? jobRights(names, manifest, all) : []),
      ],
      subscribe: [`${names.toolCall(name)} ${queueGroup}`, names.invocationCancel(every), inbox, ...shown],
      answers: true,
    };
  }
  return {
    publish: [
      announces,
      ...cards.publish,
      ...artifactUse(names),
      ...claiming(names),
      // Who ends an invocation publishes the run whose turn it is in the session: of its own, or of another agent of its tree.
      ...[name, ...handsOverTo(manifest, all)].map((to) => names.agentRun(to)),
      // An agent that is asked hands over to these too, and waits for their answer.
      ...[...new Set([...manifest.asks, ...handsOverTo(manifest, all)])].map((to) => names.agentDelegate(to)),
      ...callsTo(manifest, all).map((to) => names.toolCall(to)),
      // Whether another agent that claims the same app is up, and which of the offered tools are.
      '$SRV.PING.*',
      names.invocationEvent(every),
      names.invocationCancel(every),
      names.allSessionEvents,
      names.allSessionPending,
      names.dead('agent', name),
      ...workTaking(names, { kind: 'run', name }),
      ...workTaking(names, { kind: 'operation', name }),
    ],
    subscribe: [
      `${names.agentAsk(name)} ${queueGroup}`,
      `${names.agentDelegate(name)} ${queueGroup}`,
      names.invocationCancel(every),
      inbox,
      ...shown,
      ...cards.subscribe,
    ],
    answers: true,
  };
}

/** All agents of its tree: a tool may transfer to any of them. */
function handsOverTo({ name }: ServiceManifest, all: readonly ServiceManifest[]): string[] {
  const agents = all.filter(({ kind }) => kind === 'agent');
  const tree = treeOf(
    agents.map((each) => ({ name: each.name, subAgents: each.transfers })),
    name,
  );
  return [...tree].filter((to) => to !== name);
}

/** The tools that it names, and of those that are known now the ones that fit its patterns. NATS has no patterns within a name. */
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
    ...workTaking(names, { kind: 'job', name }),
  ];
}

/** The agents that may call a tool: it tells them how far its long-running calls are. */
function callersOf({ name }: ServiceManifest, all: readonly ServiceManifest[]): string[] {
  const agents = all.filter(({ kind }) => kind === 'agent');
  return agents
    .filter(({ calls, offers = [] }) => calls.includes(name) || matchesAny(offers, name))
    .map((agent) => agent.name);
}

/** Without a consumer: who may make one may have the server deliver to any subject. */
function cardReading({ cardBucket }: Subjects) {
  const stream = `KV_${cardBucket}`;
  return {
    publish: [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`],
    subscribe: [`$KV.${cardBucket}.>`],
  };
}

/** Any file of any user: whose it is, is known to the process and not to NATS. Nothing of it makes or deletes streams, or makes consumers. */
function artifactUse({ artifactBucket }: Subjects): string[] {
  return [`$KV.${artifactBucket}.>`, ...streamUse(`KV_${artifactBucket}`), ...objectUse(artifactBucket)];
}

/** Who may send or hear anything may find that it was too large for a message. */
function claiming({ claimBucket }: Subjects): string[] {
  return [claimBucket('news'), claimBucket('work')].flatMap(objectUse);
}

function objectUse(bucket: string): string[] {
  return [`$O.${bucket}.C.*`, `$O.${bucket}.M.*`, ...streamUse(`OBJ_${bucket}`)];
}

function streamUse(stream: string): string[] {
  return ['INFO', 'MSG.GET', 'PURGE'].map((verb) => `$JS.API.STREAM.${verb}.${stream}`);
}

function workTaking({ workStream, workConsumer }: Subjects, { kind, name }: QueueName): string[] {
  const consumer = `${workStream(kind)}.${workConsumer(name)}`;
  return [
    `$JS.API.CONSUMER.INFO.${consumer}`,
    `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
    `$JS.ACK.${consumer}.>`,
  ];
}
