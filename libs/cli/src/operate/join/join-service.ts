import { createHash, randomBytes } from 'node:crypto';
import {
  busName,
  clientManifest,
  gatewayManifest,
  hasKeeper,
  keeperManifest,
  keeperService,
  provisionUser,
  type RightsRow,
  redisPrefixOf,
  rightsTable,
  type ServiceManifest,
} from '@agentmesh/mesh';
import { addServices, removeServices, type Tenancy } from '@agentmesh/mesh/accounts';
import { MeshError, nearest } from '@agentmesh/protocol';
import type { RedisAccessList } from '@agentmesh/store';
import { addTraces, removeTraces } from '../service-traces.ts';
import { changeOthers, ruleOf, saveUsers } from './redis-rules.ts';

/** The mesh that a service joins or leaves. */
export interface JoinedMesh {
  tenancy: Tenancy;
  natsUrl: string;
  redisUrl: string;
  /** The first part of all keys of Redis; default that of the namespace. */
  redisPrefix?: string | undefined;
  /** The users of Redis; undefined when they are made by hand. */
  redis: RedisAccessList | undefined;
}

/** A service that has joined. */
export interface Joined {
  service: string;
  /** The file with the credentials of NATS. */
  creds: string;
  /** The file with the environment of the service. */
  env: string;
  variables: Record<string, string>;
  rights: RightsRow[];
  /** Sentences about work that is left to the operator. */
  notes: string[];
}

/**
 * Gives a new service its credentials, queues and rights while the mesh runs. Takes everything back when a step
 * fails.
 *
 * @throws MeshError `already_exists` for a name in use; `not_found` for an agent that the mesh does not know
 */
export async function joinService(mesh: JoinedMesh, manifest: ServiceManifest): Promise<Joined> {
  const { tenancy } = mesh;
  const folder = tenancy.folder.mesh(tenancy.namespace);
  const service = busName(manifest);
  const services = await folder.services();
  assertFree(service, services, folder.env(service));
  assertOwnName(manifest, services);
  assertOnlyRoot(manifest, services);
  assertKnown(manifest, services);
  const all = [...services, manifest];
  try {
    const redis = await joinRedis(mesh, manifest, { before: services, after: all });
    await addServices(tenancy, [manifest]);
    const variables = {
      NATS_URL: mesh.natsUrl,
      MESH_NATS_CREDS: folder.creds(service),
      ...(tenancy.namespace !== 'mesh' && { MESH_NAMESPACE: tenancy.namespace }),
      ...redis.variables,
    };
    const queueNotes = await addTraces(tenancy, [manifest], mesh.natsUrl);
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    await tenancy.folder.write(folder.env(service), lines.join(''));
    const rights = rightsTable(all, tenancy.namespace, prefixOf(mesh)).filter(
      ({ account }) => accountOf(account) === service,
    );
    const notes = [
      ...uncalled(manifest, rights),
      ...firstWithKeeper(mesh, manifest, services),
      ...redis.notes,
      ...queueNotes,
    ];
    return { service, creds: folder.creds(service), env: folder.env(service), variables, rights, notes };
  } catch (thrown) {
    await leave(mesh, manifest).catch(() => {});
    throw thrown;
  }
}

/**
 * Takes the credentials of a service away, which closes its connections, and removes its queues and card. Returns
 * the number of messages that its queues held.
 *
 * @throws MeshError `not_found` for a service that has not joined
 */
export async function revokeService(
  mesh: JoinedMesh,
  name: string,
): Promise<{ service: string; waiting: number }> {
  const { folder, namespace } = mesh.tenancy;
  const services = await folder.mesh(namespace).services();
  const joined = services.filter((each) => each.joined);
  const found = joined.filter((each) => each.name === name || busName(each) === name);
  const [manifest] = found;
  if (!manifest) throw notJoined(name, services, joined);
  if (found.length > 1)
    throw new MeshError('invalid_argument', `name one of ${found.map(busName).join(' and ')}`);
  return { service: busName(manifest), waiting: await leave(mesh, manifest) };
}

async function leave(mesh: JoinedMesh, manifest: ServiceManifest): Promise<number> {
  const { tenancy, redis } = mesh;
  const service = busName(manifest);
  const before = await tenancy.folder.mesh(tenancy.namespace).services();
  const after = before.filter((each) => busName(each) !== service);
  if (before.length !== after.length) await removeServices(tenancy, [service]);
  const waiting = await removeTraces(tenancy, manifest, mesh.natsUrl);
  if (redis) {
    await redis.remove(service);
    await changeOthers(redis, prefixOf(mesh), { before, after });
    await redis.save();
  }
  await tenancy.folder.mesh(tenancy.namespace).removeAccount(service);
  return waiting;
}

async function joinRedis(
  mesh: JoinedMesh,
  manifest: ServiceManifest,
  change: { before: readonly ServiceManifest[]; after: readonly ServiceManifest[] },
): Promise<{ variables: Record<string, string>; notes: string[] }> {
  const service = busName(manifest);
  const rules = ruleOf(change.after, service, prefixOf(mesh));
  if (!rules) return { variables: {}, notes: [] };
  const { folder, namespace } = mesh.tenancy;
  const password = randomBytes(16).toString('hex');
  await folder.mesh(namespace).writeRedisPassword(service, password);
  const hash = createHash('sha256').update(password).digest('hex');
  const line = `user ${service} on #${hash} ${rules.join(' ')}`;
  const variables = { REDIS_URL: asUser(mesh.redisUrl, service, password) };
  if (!mesh.redis)
    return { variables, notes: [`add this line to the ACL file of Redis, then ACL LOAD: ${line}`] };
  await mesh.redis.put({ user: service, rules: ['on', `#${hash}`, ...rules] });
  await changeOthers(mesh.redis, prefixOf(mesh), change);
  return { variables, notes: await saveUsers(mesh.redis, line) };
}

/** Returns the service of an account, whose name begins with the namespace unless that is `mesh`. */
const accountOf = (account: string) => account.slice(account.indexOf(':') + 1);

/** Says that no agent calls a tool: nobody has the right to call it before a definition names it. */
function uncalled({ kind, name }: ServiceManifest, rights: readonly RightsRow[]): string[] {
  const isCalled = rights.some(({ verb, subject }) => verb === 'answers' && /\.call$/.test(subject));
  if (kind !== 'tool' || isCalled) return [];
  return [`no agent calls ${name} yet; an agent does with remoteTool('${name}')`];
}

/** Says that the mesh needs a keeper from now on: the service is the first one that uses files or credentials. */
function firstWithKeeper(
  mesh: JoinedMesh,
  manifest: ServiceManifest,
  before: readonly ServiceManifest[],
): string[] {
  if (!hasKeeper([manifest]) || hasKeeper(before)) return [];
  const { folder, namespace } = mesh.tenancy;
  const creds = folder.mesh(namespace).creds(keeperService);
  const rules = ruleOf([...before, manifest], keeperService, prefixOf(mesh)) ?? [];
  return [
    `a keeper gives it files and credentials, which agentmesh dev starts; elsewhere start one (the module agentmesh/keeper) with CREDENTIAL_KEYS, MESH_NATS_CREDS=${creds} and a user of Redis with: ${rules.join(' ')}`,
  ];
}

const prefixOf = ({ redisPrefix, tenancy }: JoinedMesh) => redisPrefix ?? redisPrefixOf(tenancy.namespace);

function asUser(url: string, user: string, password: string): string {
  const address = new URL(url);
  address.username = user;
  address.password = password;
  return address.href;
}

function assertFree(service: string, services: readonly ServiceManifest[], env: string): void {
  const other = services.find((each) => busName(each) === service);
  if (!other) return;
  throw new MeshError(
    'already_exists',
    other.joined
      ? `${service} has joined already, with ${env}; for new credentials revoke it first`
      : `${service} is a service of the mesh already; choose another name`,
  );
}

/** Services of the mesh itself, which no definition names. */
const ownServices = [gatewayManifest, keeperManifest, clientManifest].map(({ name }) => name);

/** Checks that no service of another kind has the name: the callers of both would count as one. */
function assertOwnName({ kind, name }: ServiceManifest, services: readonly ServiceManifest[]): void {
  const other = services.find((each) => each.name === name);
  if (!other && !ownServices.includes(name) && name !== provisionUser) return;
  throw new MeshError(
    'already_exists',
    `the mesh has a service ${name} already${other ? `, a service of kind ${other.kind}` : ''}; choose another name for the ${kind}`,
  );
}

/** Checks that an app has no other root: with two, the mesh refuses all runs of the app. */
function assertOnlyRoot({ app }: ServiceManifest, services: readonly ServiceManifest[]): void {
  const root = app === undefined ? undefined : services.find((each) => each.app === app);
  if (!root) return;
  throw new MeshError(
    'already_exists',
    `agent ${root.name} is the root of app ${app}; give the new agent an app of its own`,
  );
}

function assertKnown(
  { asks, transfers, calls }: ServiceManifest,
  services: readonly ServiceManifest[],
): void {
  for (const [kind, used] of [
    ['agent', [...asks, ...transfers]],
    ['tool', calls],
  ] as const) {
    const known = services.flatMap((each) => (each.kind === kind ? each.name : []));
    const unknown = used.find((name) => name !== '*' && !known.includes(name));
    if (unknown === undefined) continue;
    const meant = nearest(unknown, known);
    const advice = meant ? `did you mean ${meant}?` : `the ${kind}s are ${known.join(', ') || 'none'}`;
    throw new MeshError('not_found', `the mesh knows no ${kind} ${unknown}; ${advice}`);
  }
}

function notJoined(
  name: string,
  services: readonly ServiceManifest[],
  joined: readonly ServiceManifest[],
): MeshError {
  if (services.some((each) => each.name === name || busName(each) === name))
    return new MeshError(
      'failed_precondition',
      `${name} did not join: it is defined with the mesh; remove its definition, or use accounts remove`,
    );
  const names = joined.map((each) => each.name);
  const meant = nearest(name, names);
  const advice = meant ? `did you mean ${meant}?` : `joined are ${names.join(', ') || 'none'}`;
  return new MeshError('not_found', `no service ${name} has joined; ${advice}`);
}
