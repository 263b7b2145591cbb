import { MeshError } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import type { InvocationContext } from '../base/invocation-context.ts';

/** What becomes of a message: its content, and the files that were made of it. */
interface SavedMessage {
  content: Content;
  artifactDelta: Record<string, number>;
}

/**
 * Does what `saveInputBlobsAsArtifacts` of the run's configuration says: each file in the user's message is kept as an artifact, and a text takes
 * its place that names it. The name is the file's own, else `artifact_<invocation id>_<index>`. Done again after a crash, it finds what it saved.
 *
 * @throws MeshError `failed_precondition` when there is a file and no artifact service
 */
export async function saveInputBlobs(context: InvocationContext, content: Content): Promise<SavedMessage> {
  const artifactDelta: Record<string, number> = Object.create(null);
  const { parts = [] } = content;
  if (!context.runConfig.saveInputBlobsAsArtifacts || !parts.some(({ inlineData }) => inlineData)) {
    return { content, artifactDelta };
  }
  const saved: Part[] = [];
  for (const [index, part] of parts.entries()) {
    if (!part.inlineData) {
      saved.push(part);
      continue;
    }
    const own = part.inlineData.displayName;
    // Two files of one name must not be two versions of one file.
    const filename = own && !(own in artifactDelta) ? own : `artifact_${context.invocationId}_${index}`;
    artifactDelta[filename] = await saveOnce(context, filename, part);
    saved.push({ text: `[Uploaded Artifact: "${filename}"]` });
  }
  return { content: { ...content, parts: saved }, artifactDelta };
}

/** The version that holds the file: the latest one if it does, else a new one. */
async function saveOnce(
  { artifactService, ref }: InvocationContext,
  filename: string,
  artifact: Part,
): Promise<number> {
  if (!artifactService) {
    throw new MeshError(
      'failed_precondition',
      'saveInputBlobsAsArtifacts needs an artifactService: give the runner one, or send the message without files',
    );
  }
  const { appName, userId, sessionId } = ref;
  const file = { appName, userId, sessionId, filename };
  const latest = (await artifactService.listVersions(file)).at(-1);
  if (latest !== undefined) {
    const known = await artifactService.loadArtifact({ ...file, version: latest });
    if (known && isSameFile(known, artifact)) return latest;
  }
  return await artifactService.saveArtifact({ ...file, artifact });
}

function isSameFile({ inlineData: one }: Part, { inlineData: other }: Part): boolean {
  const bytes = (data = '') => Buffer.from(data, 'base64');
  return one?.mimeType === other?.mimeType && bytes(one?.data).equals(bytes(other?.data));
}
