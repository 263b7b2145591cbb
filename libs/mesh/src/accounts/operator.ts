import { chmod } from 'node:fs/promises';
import type { AccountResolver } from '@agentmesh/bus';
import { createOperator } from '@nats-io/jwt';
import { systemClaims } from './account-claims.ts';
import { createKeyFolder, type KeyFolder } from './key-folder.ts';
import { keyOf, seedOf } from './key-of.ts';
import { mintAccount, mintCredentials, mintOperator } from './mint.ts';
import { pushAccounts } from './tend-accounts.ts';

/** The name of the system account, in which the servers take accounts. */
const systemAccount = 'SYS';

/**
 * Makes a folder with the keys of an operator, the credentials for pushing accounts, and the file
 * `nats-server.conf`.
 *
 * @throws MeshError `failed_precondition` for a folder that is not empty
 */
export async function initAccounts(path: string): Promise<KeyFolder> {
  const folder = await createKeyFolder(path);
  const keys = await folder.system();
  await folder.write(folder.systemCreds, await mintCredentials('operator', keys, false));
  await writeConfiguration(folder);
  return folder;
}

/**
 * Replaces the key that signs accounts by the key that follows it, which the servers accept already. Signs and
 * pushes the accounts of all meshes again. The servers refuse the old key when they have read the new
 * `nats-server.conf`, one after the other.
 */
export async function rotateSigningKey(folder: KeyFolder, resolver: AccountResolver): Promise<number> {
  const keys = await folder.operator();
  const identity = await folder.identity();
  const next = seedOf(createOperator());
  await folder.writeOperator({ ...keys, signingSeeds: [keys.signingSeeds[1], next] });
  await writeConfiguration(folder, identity);
  await resolver.push(await mintSystem(folder));
  let count = 1;
  for (const namespace of await folder.namespaces())
    count += (await pushAccounts({ folder, namespace, resolver })).pushed.length;
  return count;
}

async function mintSystem(folder: KeyFolder): Promise<string> {
  const { account, signing } = await folder.system();
  const claims = systemClaims({ account, signing: signing.map(({ key }) => key) });
  const { signingSeeds } = await folder.operator();
  return await mintAccount(systemAccount, account, claims, keyOf(signingSeeds[0]));
}

/** Writes the file for nats-server. It holds no secret. */
async function writeConfiguration(folder: KeyFolder, identity?: Awaited<ReturnType<KeyFolder['identity']>>) {
  const { account } = await folder.system();
  const operator = await mintOperator(
    identity ?? (await folder.identity()),
    await folder.operator(),
    account,
  );
  await folder.write(
    folder.configuration,
    resolverConfiguration(operator, account, await mintSystem(folder)),
  );
  // The servers read it, often as another user.
  await chmod(folder.configuration, 0o644);
}

function resolverConfiguration(operator: string, system: string, systemJwt: string): string {
  return `# Written by 'npm run mesh -- accounts'. It holds no secret.
# The accounts come by 'accounts add'; the server keeps them in the folder NATS_ACCOUNTS_DIR of its environment.
max_payload: 1MB
write_deadline: "10s"
# A machine that is gone is noticed after two unanswered pings; its calls wait for so long.
ping_interval: "20s"
ping_max: 2
lame_duck_duration: "30s"
lame_duck_grace_period: "5s"

operator: ${operator}
system_account: ${system}
resolver: {
  type: full
  dir: $NATS_ACCOUNTS_DIR
  interval: "2m"
}
resolver_preload: {
  ${system}: ${systemJwt}
}
`;
}
