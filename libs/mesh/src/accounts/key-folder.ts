import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MeshError, parse } from '@agentmesh/protocol';
import { createAccount, createOperator, type KeyPair, parseCreds } from '@nats-io/jwt';
import { z } from 'zod';
import type { ServiceManifest } from '../rights/service-manifest.ts';
import { definitionsSchema } from './definitions.ts';
import { keyOf, seedOf } from './key-of.ts';

const operatorSchema = z.strictObject({
  operator: z.string(),
  /** The key that signs accounts, and the key that follows it. Servers accept both. */
  signingSeeds: z.tuple([z.string(), z.string()]),
});
const accountSchema = z.strictObject({
  account: z.string(),
  /** The keys that sign its users, the newest first. Two while the credentials change. */
  signing: z.array(z.strictObject({ key: z.string(), seed: z.string() })).min(1),
  /** The JWT that the servers have. */
  pushed: z.string().optional(),
});

export type OperatorKeys = z.infer<typeof operatorSchema>;
export type AccountKeys = z.infer<typeof accountSchema>;

/** The folder of an operator with all keys. Only its owner may read it. */
export interface KeyFolder {
  readonly path: string;
  /** The file of nats-server with the operator, the system account and the resolver. */
  readonly configuration: string;
  /** The credentials of the user that pushes accounts. */
  readonly systemCreds: string;
  operator(): Promise<OperatorKeys>;
  /** The identity of the operator, which signs only the list of signing keys. */
  identity(): Promise<KeyPair>;
  writeOperator(keys: OperatorKeys): Promise<void>;
  system(): Promise<AccountKeys>;
  writeSystem(keys: AccountKeys): Promise<void>;
  write(file: string, text: string | Uint8Array): Promise<void>;
  /** Returns the address of Redis with the right to change its users; undefined when the folder has none. */
  redisUrl(): Promise<string | undefined>;
  writeRedisUrl(url: string): Promise<void>;
  /** Returns the namespaces of all meshes in the folder. */
  namespaces(): Promise<string[]>;
  mesh(namespace: string): MeshFolder;
}

/** The part of the folder for one mesh. */
export interface MeshFolder {
  /** The definitions of all services that have accounts. */
  readonly definitions: string;
  services(): Promise<ServiceManifest[]>;
  writeServices(services: readonly ServiceManifest[]): Promise<void>;
  /** Returns the keys of an account; undefined for an account without keys. */
  account(service: string): Promise<AccountKeys | undefined>;
  writeAccount(service: string, keys: AccountKeys): Promise<void>;
  creds(service: string): string;
  /** Returns the public key that signed the credentials of a service. */
  signerOf(service: string): Promise<string | undefined>;
  /** Tells whether all services but those that joined work in one account. */
  isShared(): Promise<boolean>;
  /** Makes the mesh a shared one. */
  share(): Promise<void>;
  /** The file with the environment of a service that joined. */
  env(service: string): string;
  /** Returns the password of a service's user of Redis; undefined when it has none. */
  redisPassword(service: string): Promise<string | undefined>;
  writeRedisPassword(service: string, password: string): Promise<void>;
  /** Deletes the keys and the credentials of a service. */
  removeAccount(service: string): Promise<void>;
}

/**
 * Makes a new folder with the keys of an operator.
 *
 * @throws MeshError `failed_precondition` for a folder that is not empty
 */
export async function createKeyFolder(path: string): Promise<KeyFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if ((await readdir(path)).length > 0)
    throw new MeshError('failed_precondition', `${path} is not empty; name a new folder for the keys`);
  // The folder may have been there before, with another mode.
  await chmod(path, 0o700);
  const folder = folderAt(path);
  const identity = createOperator();
  await folder.write(join(path, 'operator.nk'), identity.getSeed());
  await folder.writeOperator({
    operator: identity.getPublicKey(),
    signingSeeds: [seedOf(createOperator()), seedOf(createOperator())],
  });
  await folder.writeSystem(newAccountKeys());
  return folder;
}

/** Opens a folder of keys. @throws MeshError `not_found` for a folder without keys of an operator */
export async function openKeyFolder(path: string): Promise<KeyFolder> {
  const folder = folderAt(path);
  await folder.operator();
  return folder;
}

/** Returns the keys of a new account. The seed of its identity is not kept: the operator signs for it. */
export function newAccountKeys(): AccountKeys {
  return { account: createAccount().getPublicKey(), signing: [newSigningKey()] };
}

/** Returns a new key that signs users. */
export function newSigningKey(): AccountKeys['signing'][number] {
  const pair = createAccount();
  return { key: pair.getPublicKey(), seed: seedOf(pair) };
}

function folderAt(path: string): KeyFolder {
  const [operatorFile, systemFile] = [join(path, 'operator.json'), join(path, 'system.json')];
  const redisFile = join(path, 'redis.url');
  return {
    path,
    configuration: join(path, 'nats-server.conf'),
    systemCreds: join(path, 'system.creds'),
    operator: () => readRequired(operatorFile, operatorSchema),
    async identity() {
      const file = join(path, 'operator.nk');
      const seed = await readText(file);
      if (seed !== undefined) return keyOf(seed);
      const advice = 'put the seed of the operator there for as long as this command runs';
      throw new MeshError('not_found', `${file} is missing; ${advice}`);
    },
    writeOperator: (keys) => writeJson(operatorFile, keys),
    system: () => readRequired(systemFile, accountSchema),
    writeSystem: (keys) => writeJson(systemFile, keys),
    write: writePrivate,
    redisUrl: () => readText(redisFile),
    writeRedisUrl: (url) => writePrivate(redisFile, url),
    async namespaces() {
      const entries = await readdir(path, { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .sort();
    },
    mesh: (namespace) => meshFolderAt(join(path, namespace)),
  };
}

function meshFolderAt(path: string): MeshFolder {
  const definitions = join(path, 'definitions.json');
  const keysOf = (service: string) => join(path, 'keys', `${service}.json`);
  const creds = (service: string) => join(path, `${service}.creds`);
  const env = (service: string) => join(path, `${service}.env`);
  const redisOf = (service: string) => join(path, 'keys', `${service}.redis`);
  const shared = join(path, 'keys', 'shared');
  return {
    definitions,
    services: async () => (await readJson(definitions, definitionsSchema)) ?? [],
    writeServices: (services) => writeJson(definitions, services),
    account: (service) => readJson(keysOf(service), accountSchema),
    writeAccount: (service, keys) => writeJson(keysOf(service), keys),
    creds,
    async signerOf(service) {
      const text = await readText(creds(service));
      return text === undefined ? undefined : (await parseCreds(new TextEncoder().encode(text))).uc.iss;
    },
    isShared: async () => (await readText(shared)) !== undefined,
    share: () => writePrivate(shared, ''),
    env,
    redisPassword: (service) => readText(redisOf(service)),
    writeRedisPassword: (service, password) => writePrivate(redisOf(service), password),
    async removeAccount(service) {
      for (const file of [keysOf(service), creds(service), env(service), redisOf(service)])
        await rm(file, { force: true });
    },
  };
}

async function readRequired<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const found = await readJson(file, schema);
  if (found !== undefined) return found;
  const advice = "make the keys with 'npm run mesh -- accounts init <folder>'";
  throw new MeshError('not_found', `${file} is missing; ${advice}`);
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MeshError('invalid_argument', `${file} holds no JSON; restore it from a backup`, { cause });
  }
  return parse(schema, value, file);
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('failed_precondition', `${file} cannot be read: ${reason}`, { cause });
  }
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writePrivate(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Replaces a file at once, so that a process that reads it sees the old or the new text. */
async function writePrivate(file: string, text: string | Uint8Array): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  await writeFile(fresh, text, { mode: 0o600 });
  await rename(fresh, file);
}
