import { contentSchema, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { found, readArtifactRef, readOwner } from '../artifact-ref.ts';
import { readBody, readSession } from '../params.ts';
import type { Handler } from './index.ts';

/** The largest file that is given within JSON, in bytes: it is held in memory thrice for that. */
const maxPartBytes = 32 * 1024 * 1024;

const body = z.object({
  filename: z.string().min(1),
  artifact: z.record(z.string(), z.unknown()),
  customMetadata: z.record(z.string(), z.unknown()).nullish(),
});

export const listArtifacts: Handler = async (context, request) =>
  await context.mesh.artifacts.listArtifactKeys(await readSession(context, request));

export const saveArtifact: Handler = async (context, request) => {
  const { artifacts } = context.mesh;
  const { filename, customMetadata, artifact: given } = readBody(body, request);
  const { parts: [artifact = {}] = [] } = parse(contentSchema, { parts: [given] }, 'the artifact');
  const ref = await readOwner(context, { ...(await readSession(context, request)), filename });
  const version = await artifacts.saveArtifact({
    ...ref,
    artifact: artifact as Parameters<typeof artifacts.saveArtifact>[0]['artifact'],
    customMetadata: customMetadata ?? undefined,
  });
  return found(await artifacts.getArtifactVersion({ ...ref, version }), { filename, version });
};

export const getArtifact: Handler = async (context, request) => {
  const { artifacts } = context.mesh;
  const ref = await readArtifactRef(context, request);
  const { size, version } = found(await artifacts.getArtifactVersion(ref), ref);
  if (size > maxPartBytes) {
    throw new MeshError(
      'failed_precondition',
      `artifact ${ref.filename} has ${size} bytes, which is too much for JSON; get it from …/content`,
    );
  }
  return found(await artifacts.loadArtifact({ ...ref, version }), ref);
};

export const deleteArtifact: Handler = async (context, request, reply) => {
  await context.mesh.artifacts.deleteArtifact(await readArtifactRef(context, request));
  return reply.status(204).send();
};

export const listArtifactVersions: Handler = async (context, request) =>
  await context.mesh.artifacts.listVersions(await readArtifactRef(context, request));

export const listArtifactMetadata: Handler = async (context, request) =>
  await context.mesh.artifacts.listArtifactVersions(await readArtifactRef(context, request));

export const getArtifactMetadata: Handler = async (context, request) => {
  const ref = await readArtifactRef(context, request);
  return found(await context.mesh.artifacts.getArtifactVersion(ref), ref);
};
