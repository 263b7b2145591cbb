import { serviceName } from '../mesh/service-name.ts';
import { matchesAny } from '../remote/mesh-toolset.ts';
import { treeOf } from '../remote/transfer-port.ts';
import { type Permissions, permissionsOf, type Rights, rightsOf } from './permissions.ts';
import {
  busName,
  clientManifest,
  gatewayManifest,
  hasKeeper,
  keeperManifest,
  operatorManifest,
  type ServiceManifest,
} from './service-manifest.ts';

/** A way from one account into another. */
export interface AccountLink {
  /** The account that takes the requests, or that publishes. */
  from: string;
  /** The account that sends the requests, or that listens. */
  to: string;
  kind: 'service' | 'stream';
  subject: string;
  /** True for requests that get more than one message as an answer. */
  hasManyAnswers?: boolean;
  /** The silence after which the server forgets the way back to a caller; default two minutes. */
  answersWithin?: string;
}

/** A NATS account. What its users send stays in it, except on the links. */
export interface Account {
  name: string;
  user: string;
  /** The service, gateway or program to which the account belongs; `provision` for the operator. */
  service: string;
  /** Undefined for a user that may use every subject of its account. */
  permissions?: Permissions;
  /** The number of connections at once; undefined without a limit of its own. */
  maxConnections?: number;
}

export interface AccountPlan {
  accounts: Account[];
  links: AccountLink[];
  /** The name of the account of JetStream, in which all streams and buckets of the mesh lie. */
  jetStream: string;
}

/** Connections of one agent, tool or publisher, whose replicas have one each: one alone cannot use up those of the servers. */
const maxConnections = 1_000;

/** The user that may make streams, consumers and buckets. */
export const provisionUser = 'provision';

/**
 * The account information of JetStream, without names. An account without JetStream that imports this one
 * subject can import further subjects of `$JS.API` under their own names. All requests to `$JS.API` would
 * otherwise get the answer that JetStream is off.
 */
const accountInfo = '$JS.API.INFO';

interface Member {
  account: string;
  manifest: ServiceManifest;
  rights: Rights;
}

/**
 * Plans the accounts of a mesh: one account for each service, for the gateway, for other programs, for keepers if
 * a service uses files, and for JetStream with the operator. The links between them are the rights of the services and nothing else.
 */
export function planAccounts(services: readonly ServiceManifest[], namespace = 'mesh'): AccountPlan {
  const jetStream = namespace.toUpperCase();
  const keepers = hasKeeper(services) ? [keeperManifest] : [];
  const manifests = [operatorManifest, gatewayManifest, clientManifest, ...keepers, ...services];
  const members = manifests.map((manifest) => ({
    account: manifest.kind === 'operator' ? jetStream : natsUserOf(busName(manifest), namespace),
    manifest,
    rights: rightsOf(manifest, services, namespace),
  }));
  const accounts = members.map(({ account, manifest }) =>
    manifest.kind === 'operator'
      ? { name: account, user: natsUserOf(provisionUser, namespace), service: provisionUser }
      : {
          ...{ name: account, user: account, service: busName(manifest) },
          permissions: permissionsOf(manifest, services, namespace),
          ...(services.includes(manifest) && { maxConnections }),
        },
  );
  const answered = answeredSubjects(members);
  const links = [
    ...members.flatMap((member) => storageLinks(jetStream, member)),
    ...withoutRivals(members.flatMap((to) => requestLinks(to, answered))),
    ...members.flatMap((from) => newsLinks(from, members, services)),
  ];
  return { accounts, links, jetStream };
}

/** Returns the name of a service's account and user among those of all meshes on one NATS. */
export function natsUserOf(service: string, namespace = 'mesh'): string {
  return namespace === 'mesh' ? service : `${namespace}:${service}`;
}

/** Links a service with JetStream. */
function storageLinks(jetStream: string, { account, rights: { storage } }: Member): AccountLink[] {
  if (storage.length === 0) return [];
  return [accountInfo, ...storage].map((subject) => ({
    ...{ from: jetStream, to: account, kind: 'service', subject },
    hasManyAnswers: subject.startsWith('$JS.API.CONSUMER.MSG.NEXT.'),
  }));
}

/** A subject on which a service answers requests. */
interface AnsweredSubject {
  subject: string;
  by: Member;
  /** True for a question about replicas. */
  isDiscovery: boolean;
}

function answeredSubjects(members: readonly Member[]): Map<string, AnsweredSubject[]> {
  const all = members.flatMap((by) => {
    const { answers, discovery } = by.rights;
    return [
      ...answers.map((subject) => ({ subject, by, isDiscovery: false })),
      ...discovery.map((subject) => ({ subject, by, isDiscovery: true })),
    ];
  });
  return Map.groupBy(all, ({ subject }) => subject);
}

/** Links a service that sends requests with the services that answer them. */
function requestLinks(to: Member, answered: ReadonlyMap<string, AnsweredSubject[]>): AccountLink[] {
  const patterns = to.rights.requests;
  const isPattern = (subject: string) => /[*>]/.test(subject);
  const wide = patterns.filter(isPattern);
  const subjects = new Set([
    ...patterns.filter((subject) => answered.has(subject)),
    // Most services send to a few subjects by name. Only patterns are compared with all subjects.
    ...[...(wide.length === 0 ? [] : answered.keys())].filter((subject) =>
      wide.some((pattern) => covers(pattern, subject)),
    ),
  ]);
  return [...subjects]
    .flatMap((subject) => answered.get(subject) ?? [])
    .filter(({ by, isDiscovery }) => by !== to && (!isDiscovery || needs(to.manifest, by.manifest)))
    .map(({ subject, by }) => ({
      ...{ from: by.account, to: to.account, kind: 'service', subject, hasManyAnswers: true },
      // The program that asks may be one without agentmesh, to which no heartbeats go while the agent works.
      ...(['client', 'publisher'].includes(to.manifest.kind) && { answersWithin: '24h' }),
    }));
}

/**
 * Tells whether a service may ask for replicas of another one. An agent asks for agents and for the tools that it
 * calls: nats-server compares all questions of an account with each other.
 */
function needs({ kind, calls, offers = [] }: ServiceManifest, other: ServiceManifest): boolean {
  if (other.kind !== 'tool' || kind === 'operator' || kind === 'gateway') return true;
  return kind === 'agent' && (calls.includes(other.name) || matchesAny(offers, other.name));
}

/**
 * Leaves out the second link for a subject of an account, which NATS does not allow. There are two when an
 * agent and a tool have one name in the services protocol; then the first one's presence counts for both.
 */
function withoutRivals(links: readonly AccountLink[]): AccountLink[] {
  const byImport = new Map<string, AccountLink>();
  for (const link of links) {
    const key = `${link.to} ${link.subject}`;
    if (!byImport.has(key)) byImport.set(key, link);
  }
  return [...byImport.values()];
}

/**
 * Links a publisher of news with its listeners. News of an agent are for the gateway and other programs, and
 * for the services that may work for it.
 */
function newsLinks(
  from: Member,
  members: readonly Member[],
  services: readonly ServiceManifest[],
): AccountLink[] {
  const reach = from.manifest.kind === 'agent' ? reachOf(from.manifest, services) : undefined;
  return members
    .filter((to) => to !== from && (!isService(to.manifest) || reach?.has(busName(to.manifest)) !== false))
    .flatMap((to) =>
      from.rights.news
        .filter((subject) => to.rights.hears.some((pattern) => covers(pattern, subject)))
        .map((subject) => ({ from: from.account, to: to.account, kind: 'stream' as const, subject })),
    );
}

function isService({ kind }: ServiceManifest): boolean {
  return kind === 'agent' || kind === 'tool';
}

/** Returns the names on the bus of all services that may work for an agent, at any distance. */
export function reachOf({ name }: ServiceManifest, services: readonly ServiceManifest[]): Set<string> {
  const agents = services.filter(({ kind }) => kind === 'agent');
  const relations = agents.map((each) => ({ name: each.name, subAgents: each.transfers }));
  const reached = new Set([serviceName('agent', name)]);
  for (const each of reached) {
    const agent = agents.find((other) => busName(other) === each);
    if (!agent) continue;
    for (const next of [...treeOf(relations, agent.name), ...agent.asks])
      reached.add(serviceName('agent', next));
    for (const { kind, name: tool } of services)
      if (kind === 'tool' && (agent.calls.includes(tool) || matchesAny(agent.offers ?? [], tool)))
        reached.add(serviceName('tool', tool));
  }
  return reached;
}

/** Tells whether each subject of the second pattern is one of the first pattern. */
export function covers(pattern: string, other: string): boolean {
  // Most subjects differ before the first wildcard. A mesh of a thousand services compares millions.
  const at = pattern.search(/[*>]/);
  if (at === -1) return pattern === other;
  if (!other.startsWith(pattern.slice(0, at))) return false;
  const wanted = pattern.split('.');
  const tokens = other.split('.');
  for (const [index, want] of wanted.entries()) {
    const token = tokens[index];
    if (token === undefined) return false;
    if (want === '>') return true;
    if (token === '>' || (want !== '*' && want !== token)) return false;
  }
  return wanted.length === tokens.length;
}
