import {
  busName,
  clientManifest,
  gatewayManifest,
  keeperManifest,
  operatorManifest,
  permissionsOf,
} from '@agentmesh/mesh';
import { every } from '@agentmesh/protocol';
import { agents, names, services, tools } from './stage.fixture.ts';

const known = [operatorManifest, gatewayManifest, clientManifest, keeperManifest, ...services];

/** Returns the subjects on which a user may publish, and the subjects that it may hear. */
export function rightsOf(user: string): { publish: string[]; hear: string[] } {
  const manifest = known.find((each) => busName(each) === user);
  if (!manifest) throw new Error(`no service is called ${user}`);
  const { publish, subscribe } = permissionsOf(manifest, services);
  return { publish, hear: subscribe.map((subject) => subject.replace(/ q$/, '')) };
}

/** Tells whether a subject is one of a pattern. */
export function isIn(pattern: string, subject: string): boolean {
  const tokens = subject.split('.');
  const wanted = pattern.split('.');
  if (wanted.at(-1) === '>') return tokens.length >= wanted.length && isPrefix(wanted.slice(0, -1), tokens);
  return tokens.length === wanted.length && isPrefix(wanted, tokens);
}

const isPrefix = (wanted: string[], tokens: string[]) =>
  wanted.every((want, at) => want === '*' || want === tokens[at]);

const workStreams = (['run', 'operation', 'job'] as const).map((kind) => names.workStream(kind));
const streams = [
  ...workStreams,
  names.deadStream,
  `KV_${names.cardBucket}`,
  `KV_${names.artifactBucket}`,
  ...[names.artifactBucket, names.claimBucket('news'), names.claimBucket('work')].map(
    (bucket) => `OBJ_${bucket}`,
  ),
];
const verbs = ['CREATE', 'UPDATE', 'DELETE', 'PURGE', 'SNAPSHOT', 'RESTORE', 'MSG.GET', 'MSG.DELETE'];

/** Returns the requests to JetStream that use the queue of a service. */
function queueSubjects(stream: string, name: string): string[] {
  const consumer = `${stream}.${names.workConsumer(name)}`;
  return [
    `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
    `$JS.API.CONSUMER.DELETE.${consumer}`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${consumer}`,
    `$JS.API.CONSUMER.CREATE.${consumer}`,
    `$JS.ACK.${consumer}.1.1.1.1700000000000000000.0`,
  ];
}

const evilSession = { appName: 'evil', userId: 'evil', sessionId: 'evil' };

/** The subjects of all services that somebody else must not reach. */
const subjects: readonly string[] = [
  ...agents.flatMap((name) => [
    names.agentAsk(name),
    names.agentDelegate(name),
    names.agentRun(name, 'evil'),
    names.operation(name, 'evil', 'client'),
    names.dead('agent', name),
    `$KV.${names.cardBucket}.${names.cardKey('agent', name)}`,
    `$KV.${names.cardBucket}.${names.provisionedKey(name)}`,
    names.allCardNews.replace('>', names.cardKey('agent', name)),
    `$SRV.PING.${names.shownAs(name)}`,
    ...queueSubjects(names.workStream('run'), name),
    ...queueSubjects(names.workStream('operation'), name),
  ]),
  ...tools.flatMap((name) => [
    names.toolCall(name),
    names.toolJob(name),
    names.dead('tool', name),
    `$KV.${names.cardBucket}.${names.cardKey('tool', name)}`,
    ...queueSubjects(names.workStream('job'), name),
  ]),
  ...known
    .map(busName)
    .flatMap((service) => [
      names.sessionEvent(evilSession, 'evil', service),
      names.sessionNews(evilSession, 'evil', service),
      names.sessionPending(evilSession, service),
      names.invocationCancel('evil', service),
      `${names.inboxPrefix(service)}.evil`,
    ]),
  ...known.filter(({ usesArtifacts }) => usesArtifacts).map((each) => names.keeper(busName(each))),
  names.pending,
  ...streams.flatMap((stream) => verbs.map((verb) => `$JS.API.STREAM.${verb}.${stream}`)),
  ...streams.map((stream) => `$JS.API.CONSUMER.CREATE.${stream}`),
  ...['$JS.API.STREAM.LIST', '$JS.API.STREAM.CREATE.EVIL', '$SYS.REQ.SERVER.PING', 'evil'],
];

/** Returns the subjects of others that a user has no right to send to. */
export function targetsOf(user: string): string[] {
  const { publish } = rightsOf(user);
  return subjects.filter((subject) => !publish.some((pattern) => isIn(pattern, subject)));
}

/** Returns messages of a user that its rights allow: a subject for each right outside JetStream. */
export function legitimateSubjects(user: string): string[] {
  const isJetStream = /^\$(JS|KV|O)\.|^_/;
  return rightsOf(user)
    .publish.filter((pattern) => !isJetStream.test(pattern))
    .flatMap((pattern) => expand(pattern));
}

/** Replaces the wildcard of a pattern by the names of services, or by a word. */
function expand(pattern: string): string[] {
  const agentPattern = names.agentAsk(every);
  if (pattern === agentPattern) return agents.map((name) => names.agentAsk(name));
  return [pattern.replaceAll('*', 'some').replace('>', 'some')];
}
