import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { credentialKeysVariable, newCredentialKeys } from '@agentmesh/protocol';

/**
 * Returns the keys that seal people's credentials in a mesh on this machine: the keys in our environment,
 * else the keys that an earlier start left in the data folder, else new keys. Only the owner of the folder
 * can read them there.
 *
 * @param dataDir the folder of Redis' data; undefined when the data ends with the mesh
 */
export async function credentialKeysFor(dataDir: string | undefined): Promise<string> {
  const given = process.env[credentialKeysVariable];
  if (given) return given;
  if (dataDir === undefined) return newCredentialKeys();
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = `${dataDir}/credential-keys`;
  try {
    await writeFile(file, `${newCredentialKeys()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'EEXIST') throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}
