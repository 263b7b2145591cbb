import { readFileSync } from 'node:fs';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MeshError, nearest, parse } from '@agentmesh/protocol';
import { describeConfig, serviceConfig } from '@agentmesh/service';
import { z } from 'zod';

/** The variable with the address of the gateway. */
export const gatewayVariable = 'MESH_GATEWAY_URL';
/** The variable with the API key, or the token, for the gateway. */
export const gatewayKeyVariable = 'MESH_GATEWAY_KEY';
/** The variable with the folder of the operator's keys, for services that join and leave. */
export const keysVariable = 'MESH_KEYS';

const fileSchema = z.strictObject({
  variables: z.record(z.string(), z.string()),
  isOneProcess: z.boolean().optional(),
});

/** The variables by which a command finds its mesh. */
export type MeshVariables = Record<string, string>;

/** A mesh that a context file names. */
export interface MeshContext {
  variables: MeshVariables;
  /** True for a mesh in one process, which has a gateway and no servers. */
  isOneProcess?: boolean | undefined;
}

/**
 * Reads a context file: `{"variables": {"NATS_URL": "…", "REDIS_URL": "…", "MESH_GATEWAY_URL": "…"}}`.
 * Returns undefined when there is no such file.
 *
 * @throws MeshError `invalid_argument` for a file with another form, and for a variable that no command reads
 */
export function readContextFile(file: string): MeshContext | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MeshError('invalid_argument', `${file} is not JSON; remove it, or start the mesh again`, {
      cause,
    });
  }
  const context = parse(fileSchema, value, file);
  const known = [
    gatewayVariable,
    gatewayKeyVariable,
    keysVariable,
    ...describeConfig(serviceConfig).map(({ name }) => name),
  ];
  const unknown = Object.keys(context.variables).find((name) => !known.includes(name));
  if (unknown === undefined) return context;
  const meant = nearest(unknown, known);
  const advice = meant ? `did you mean ${meant}?` : 'remove it';
  throw new MeshError(
    'invalid_argument',
    `${file} has the variable ${unknown}, which is not known; ${advice}`,
  );
}

/** Writes a context file, which only its owner may read. */
export async function writeContextFile(file: string, context: MeshContext): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  await writeFile(fresh, `${JSON.stringify(context, null, 2)}\n`, { mode: 0o600 });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
}
