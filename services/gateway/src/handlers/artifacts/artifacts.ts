import type { ArtifactRef } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { sendNull } from '../../http/send-null.ts';
import { assertNoQuery, found, readArtifactRef, readVersionRef } from '../../params/artifact-ref.ts';
import { readBody, readSession } from '../../params/params.ts';
import { requireLog } from '../../params/require-session.ts';
import { saveToSession } from './save-to-session.ts';

/** The largest file that is sent within JSON, in bytes: memory holds it four times for that. */
const maxPartBytes = 16 * 1024 * 1024;

const contents = ['text', 'inlineData', 'fileData'] as const;
const part = z
  .looseObject({
    text: z.string().optional(),
    inlineData: z.looseObject({ data: z.string().optional(), mimeType: z.string().optional() }).optional(),
    fileData: z.looseObject({ fileUri: z.string().optional(), mimeType: z.string().optional() }).optional(),
  })
  // The store keeps one of them.
  .refine(
    (each) => contents.filter((name) => each[name] !== undefined).length <= 1,
    `may have one of ${contents.join(', ')}; save an artifact for each`,
  );

export const saveArtifactBody = z.strictObject({
  filename: z.string().min(1),
  artifact: part,
  customMetadata: z.record(z.string(), z.unknown()).nullish(),
});

/**
 * Lists the names of artifacts. The user's own artifacts exist without a session, so the session is required
 * only when there are no names.
 */
export const listArtifacts: Handler = async (context, request) => {
  assertNoQuery(request);
  const ref = await readSession(context, request);
  const names = await context.mesh.artifacts.listArtifactKeys(ref);
  if (names.length === 0) await requireLog(context, ref);
  return names;
};

export const saveArtifact: Handler = async (context, request) => {
  const { artifacts } = context.mesh;
  assertNoQuery(request);
  const { filename, customMetadata, artifact } = readBody(saveArtifactBody, request);
  const ref = { ...(await readSession(context, request)), filename };
  const version = await saveToSession(
    context,
    ref,
    async () =>
      await artifacts.saveArtifact({
        ...ref,
        artifact: artifact as Parameters<typeof artifacts.saveArtifact>[0]['artifact'],
        customMetadata: customMetadata ?? undefined,
      }),
  );
  return found(await artifacts.getArtifactVersion({ ...ref, version }), { filename, version });
};

export const getArtifact: Handler = async (context, request, reply) => {
  const { artifacts } = context.mesh;
  const ref = await readVersionRef(context, request);
  const { size, version } = found(await artifacts.getArtifactVersion(ref), ref);
  if (size > maxPartBytes) {
    throw new MeshError(
      'failed_precondition',
      `artifact ${ref.filename} has ${size} bytes, which is too much for JSON; get it from …/content`,
    );
  }
  const load = async () => JSON.stringify(found(await artifacts.loadArtifact({ ...ref, version }), ref));
  return await context.large.sendJson(request, reply, () => [load].values());
};

export const deleteArtifact: Handler = async (context, request, reply) => {
  await context.mesh.artifacts.deleteArtifact(await readArtifactRef(context, request));
  return sendNull(reply);
};

export const listArtifactVersions: Handler = async (context, request) => {
  const ref = await readArtifactRef(context, request);
  return await orNoSession(context, ref, await context.mesh.artifacts.listVersions(ref));
};

export const listArtifactMetadata: Handler = async (context, request) => {
  const ref = await readArtifactRef(context, request);
  return await orNoSession(context, ref, await context.mesh.artifacts.listArtifactVersions(ref));
};

export const getArtifactMetadata: Handler = async (context, request) => {
  const ref = await readVersionRef(context, request);
  return found(await context.mesh.artifacts.getArtifactVersion(ref), ref);
};

/**
 * Returns a list about a file. A list of a session's file is empty only when the session exists. @throws MeshError
 * `not_found`
 */
async function orNoSession<T>(
  context: GatewayContext,
  ref: ArtifactRef,
  list: readonly T[],
): Promise<readonly T[]> {
  if (list.length === 0 && !ref.filename.startsWith('user:')) await requireLog(context, ref);
  return list;
}
