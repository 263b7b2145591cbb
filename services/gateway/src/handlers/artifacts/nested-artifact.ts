import { MeshError } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import type { Handler } from '../../context/route.ts';
import { downloadArtifact, uploadArtifact } from './artifact-content.ts';
import {
  deleteArtifact,
  getArtifact,
  getArtifactMetadata,
  listArtifactMetadata,
  listArtifactVersions,
} from './artifacts.ts';

/** The ends of a path behind an artifact's name, the longer ends first. */
const ends: [end: RegExp, handle: Handler][] = [
  [/\/versions\/(?<version>[^/]+)\/content$/, downloadArtifact],
  [/\/versions\/(?<version>[^/]+)\/metadata$/, getArtifactMetadata],
  [/\/versions\/metadata$/, listArtifactMetadata],
  [/\/versions\/(?<version>[^/]+)$/, getArtifact],
  [/\/versions$/, listArtifactVersions],
  [/\/content$/, downloadArtifact],
];

/**
 * Reads an artifact whose name contains slashes that the client has not encoded, as ADK's web UI sends it.
 */
export const getNestedArtifact: Handler = (context, request, reply) => {
  const path = pathOf(request);
  for (const [end, handle] of ends) {
    const match = end.exec(path);
    if (!match) continue;
    const version = match.groups?.version;
    setParameters(request, {
      artifact: path.slice(0, match.index),
      ...(version !== undefined && { version }),
    });
    return handle(context, request, reply);
  }
  setParameters(request, { artifact: path });
  return getArtifact(context, request, reply);
};

/**
 * Deletes an artifact whose name contains slashes. A path that another request would read as a version or as the bytes
 * of an artifact is no name.
 */
export const deleteNestedArtifact: Handler = (context, request, reply) => {
  const artifact = pathOf(request);
  if (ends.some(([end]) => end.test(artifact)))
    throw new MeshError(
      'invalid_argument',
      'an artifact is deleted with all its versions: send DELETE to …/artifacts/<name>, with each / of the name as %2F',
    );
  setParameters(request, { artifact });
  return deleteArtifact(context, request, reply);
};

/**
 * Uploads the bytes of an artifact whose name contains slashes. A path that another request would read as a version of
 * an artifact is no name.
 */
export const uploadNestedArtifact: Handler = (context, request, reply) => {
  const [artifact, end] = splitLast(pathOf(request));
  if (artifact === undefined || end !== 'content')
    throw new MeshError('not_found', 'upload the bytes of an artifact to …/content');
  const version = /^(?<name>.+)\/versions\/(?:\d{1,15}|latest)$/.exec(artifact)?.groups?.name;
  if (version !== undefined)
    throw new MeshError(
      'invalid_argument',
      `a version does not change; upload to …/artifacts/${version}/content, which makes the next one`,
    );
  setParameters(request, { artifact });
  return uploadArtifact(context, request, reply);
};

function pathOf({ params }: FastifyRequest): string {
  return (params as { '*': string })['*'];
}

/** Splits a path before its last part. A path of one part has nothing before it. */
function splitLast(path: string): [before: string | undefined, last: string] {
  const at = path.lastIndexOf('/');
  return [at === -1 ? undefined : path.slice(0, at), path.slice(at + 1)];
}

/** Sets the path parameters `artifact` and `version`, as the routes for names without slashes do. */
function setParameters(request: FastifyRequest, parameters: { artifact: string; version?: string }): void {
  Object.assign(request.params as object, parameters);
}
