import type { AccountResolver } from '@agentmesh/bus';
import { MeshError, nearest } from '@agentmesh/protocol';
import type { KeyPair } from '@nats-io/jwt';
import type { AccountPlan } from '../rights/accounts.ts';
import { busName, type ServiceManifest } from '../rights/service-manifest.ts';
import { accountClaims, type PublicKeys, removedClaims } from './account-claims.ts';
import { type AccountKeys, type KeyFolder, newAccountKeys, newSigningKey } from './key-folder.ts';
import { keyOf } from './key-of.ts';
import { mintAccount, mintCredentials } from './mint.ts';
import { planOf } from './plan-of.ts';
import { isPushed } from './pushed.ts';

/** The accounts of one mesh: its keys, and the servers that know the accounts. */
export interface Tenancy {
  folder: KeyFolder;
  namespace: string;
  resolver: AccountResolver;
}

/** The result of a change of accounts. */
export interface Pushed {
  /** The names of the accounts that the servers got. */
  pushed: string[];
}

/** Number of accounts that are on their way to the servers at once. */
const inFlight = 8;

/**
 * Adds services to a mesh while it runs, or changes their definitions. The servers get the accounts of these
 * services and the accounts whose links change. Without services it makes the accounts of the gateway, of
 * other programs and of JetStream.
 */
export async function addServices(
  tenancy: Tenancy,
  added: readonly ServiceManifest[],
): Promise<Pushed & { services: ServiceManifest[] }> {
  const mesh = tenancy.folder.mesh(tenancy.namespace);
  const names = new Set(added.map(busName));
  const others = (await mesh.services()).filter((each) => !names.has(busName(each)));
  const services = [...others, ...added];
  await mesh.writeServices(services);
  return { services, pushed: await pushChanged(tenancy, services) };
}

/**
 * Makes these the services of a mesh, beside those that joined it. Gives the servers the accounts that change, or
 * all accounts.
 */
export async function setServices(
  tenancy: Tenancy,
  services: readonly ServiceManifest[],
  { all = false }: { all?: boolean } = {},
): Promise<Pushed> {
  const mesh = tenancy.folder.mesh(tenancy.namespace);
  const names = new Set(services.map(busName));
  const joined = (await mesh.services()).filter((each) => each.joined && !names.has(busName(each)));
  await mesh.writeServices([...services, ...joined]);
  return { pushed: await pushChanged(tenancy, [...services, ...joined], { all }) };
}

/** Gives all accounts of a mesh to the servers, whether they have them or not. */
export async function pushAccounts(tenancy: Tenancy): Promise<Pushed> {
  const services = await tenancy.folder.mesh(tenancy.namespace).services();
  return { pushed: await pushChanged(tenancy, services, { all: true }) };
}

/**
 * Removes services: the servers close their connections and refuse their credentials, and the other accounts
 * lose their links to them. Deletes their keys and credentials.
 *
 * @throws MeshError `not_found`; then nothing has changed
 */
export async function removeServices(tenancy: Tenancy, removed: readonly string[]): Promise<Pushed> {
  const { folder, namespace, resolver } = tenancy;
  const mesh = folder.mesh(namespace);
  const services = await mesh.services();
  const known = new Set(services.map(busName));
  const withKeys = await Promise.all(
    removed.map(async (service) => ({ service, keys: await mesh.account(service) })),
  );
  for (const { service, keys } of withKeys)
    if (!known.has(service) && !(keys && isRemovable(service))) throw unknownService(service, [...known]);
  const gone = new Set(removed);
  const remaining = services.filter((each) => !gone.has(busName(each)));
  await mesh.writeServices(remaining);
  // The links go first. The servers check all imports of each account that imports from a changed one, which
  // takes a second for each removed service in a mesh of 250 while the gateway and JetStream have links to it.
  const pushed = await pushChanged(tenancy, remaining);
  const signer = await signerOf(folder);
  const locked: string[] = [];
  await forEach(withKeys, async ({ service, keys }) => {
    if (!keys) return;
    await resolver.push(await mintAccount(service, keys.account, removedClaims(), signer));
    locked.push(service);
  });
  for (const service of removed) await mesh.removeAccount(service);
  return { pushed: [...locked, ...pushed] };
}

/** Tells whether the account is one of an agent or a tool. The others belong to every mesh. */
function isRemovable(service: string): boolean {
  return /^(?:agent|tool|publisher)_/.test(service);
}

/**
 * Makes new credentials of a service, signed by a new key. The old credentials are valid too, until
 * {@link finishRotation}, so that its replicas can change one after the other.
 *
 * @throws MeshError `not_found`; `failed_precondition` for a rotation that is not finished
 */
export async function beginRotation(tenancy: Tenancy, service: string): Promise<void> {
  const mesh = tenancy.folder.mesh(tenancy.namespace);
  const keys = await keysToRotate(tenancy, service);
  const hasBegun = keys.signing.length > 1;
  if (hasBegun && (await mesh.signerOf(service)) === keys.signing[0]?.key) {
    const advice = 'replace its replicas, then run the command with --finish';
    throw new MeshError('failed_precondition', `${service} has old credentials still; ${advice}`);
  }
  const rotated = hasBegun ? keys : { ...keys, signing: [newSigningKey(), ...keys.signing] };
  await mesh.writeAccount(service, rotated);
  // The servers must know the new key before a replica reads the new credentials.
  await pushChanged(tenancy, await mesh.services());
  await tenancy.folder.write(mesh.creds(service), await mintCredentials(service, rotated));
}

/**
 * Ends the validity of the old credentials of a service. The servers close the connections that use them;
 * the replicas connect again with the new credentials.
 *
 * @throws MeshError `not_found`; `failed_precondition` when no rotation has begun
 */
export async function finishRotation(tenancy: Tenancy, service: string): Promise<void> {
  const mesh = tenancy.folder.mesh(tenancy.namespace);
  const keys = await keysToRotate(tenancy, service);
  const hasNew = (await mesh.signerOf(service)) === keys.signing[0]?.key;
  if (keys.signing.length < 2 || !hasNew) {
    const advice = 'run the command without --finish first';
    throw new MeshError('failed_precondition', `${service} has no second credentials; ${advice}`);
  }
  await mesh.writeAccount(service, { ...keys, signing: keys.signing.slice(0, 1) });
  await pushChanged(tenancy, await mesh.services());
}

async function keysToRotate({ folder, namespace }: Tenancy, service: string): Promise<AccountKeys> {
  const mesh = folder.mesh(namespace);
  const keys = await mesh.account(service);
  if (keys) return keys;
  const { accounts } = await planOf(mesh, await mesh.services(), namespace);
  const names = accounts.map((each) => each.service);
  throw unknownService(service, names);
}

function unknownService(service: string, known: readonly string[]): MeshError {
  const meant = nearest(service, known);
  const advice = meant ? `did you mean ${meant}?` : `the services are ${known.join(', ') || 'none'}`;
  return new MeshError('not_found', `no account belongs to ${service}; ${advice}`);
}

/** Gives the accounts that have changed to the servers. Returns their names. */
async function pushChanged(
  { folder, namespace, resolver }: Tenancy,
  services: readonly ServiceManifest[],
  { all = false }: { all?: boolean } = {},
): Promise<string[]> {
  const mesh = folder.mesh(namespace);
  const signer = await signerOf(folder);
  const plan = await planOf(mesh, services, namespace);
  const known = await keysOf({ folder, namespace }, plan);
  const publicKeys = new Map([...known].map(([name, keys]) => [name, publicKeysOf(keys)]));
  const identityOf = (name: string) => publicKeys.get(name)?.account ?? '';
  const changes = plan.accounts.flatMap((account) => {
    const keys = known.get(account.name);
    const open = publicKeys.get(account.name);
    if (!keys || !open) return [];
    const claims = accountClaims(account, plan, open, identityOf, namespace);
    return !all && isPushed(keys.pushed, claims, signer.getPublicKey()) ? [] : [{ account, keys, claims }];
  });
  // An account must be known before another account imports from it.
  const inOrder = changes.toSorted((a, b) => Number(Boolean(a.keys.pushed)) - Number(Boolean(b.keys.pushed)));
  await forEach(inOrder, async ({ account: { name, service }, keys, claims }) => {
    const pushed = await mintAccount(name, keys.account, claims, signer);
    await resolver.push(pushed);
    await mesh.writeAccount(service, { ...keys, pushed });
  });
  return inOrder.map(({ account }) => account.name);
}

/** Returns the keys of all accounts by their names. Makes keys and credentials for new accounts. */
async function keysOf(
  { folder, namespace }: Pick<Tenancy, 'folder' | 'namespace'>,
  { accounts }: AccountPlan,
): Promise<Map<string, AccountKeys>> {
  const mesh = folder.mesh(namespace);
  const known = new Map<string, AccountKeys>();
  for (const { name, service } of accounts) {
    const found = await mesh.account(service);
    const keys = found ?? newAccountKeys();
    if (!found) {
      await mesh.writeAccount(service, keys);
      await folder.write(mesh.creds(service), await mintCredentials(service, keys));
    }
    known.set(name, keys);
  }
  return known;
}

function publicKeysOf({ account, signing }: AccountKeys): PublicKeys {
  return { account, signing: signing.map(({ key }) => key) };
}

/** Returns the key of the operator that signs accounts. */
async function signerOf(folder: KeyFolder): Promise<KeyPair> {
  const { signingSeeds } = await folder.operator();
  return keyOf(signingSeeds[0]);
}

/** Does a piece of work for each item, several at once, and starts them in order. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
