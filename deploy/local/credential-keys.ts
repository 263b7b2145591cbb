import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { credentialKeysVariable, newCredentialKeys } from '@agentmesh/protocol';

/**
 * What seals people's credentials in a mesh on this machine: as our environment says, or as the data folder has it from an earlier start, or new.
 * In the folder only its owner can read it.
 *
 * @param dataDir where Redis keeps its data; undefined when that ends with the mesh
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
