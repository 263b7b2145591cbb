import { MeshError } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import type { InvocationContext } from '../base/invocation-context.ts';

/** A message whose files are saved: its content, and their versions. */
export interface SavedMessage {
  content: Content;
  artifactDelta: Record<string, number>;
}

/**
 * Applies `saveInputBlobsAsArtifacts` of the run's configuration: saves each file in the user's message as an
 * artifact and replaces it by a text with its name. The name is the file's own, or
 * `artifact_<invocation id>_<index>`. When it runs again after a crash, it finds the files that it saved.
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
    const displayName = part.inlineData.displayName;
    // Two files with the same name must not become two versions of one artifact.
    const filename =
      displayName && !(displayName in artifactDelta)
        ? displayName
        : `artifact_${context.invocationId}_${index}`;
    artifactDelta[filename] = await saveOnce(context, filename, part);
    saved.push({ text: `[Uploaded Artifact: "${filename}"]` });
  }
  return { content: { ...content, parts: saved }, artifactDelta };
}

/** Returns the latest version if that version holds this file, or saves a new version. */
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
    const stored = await artifactService.loadArtifact({ ...file, version: latest });
    if (stored && isSameFile(stored, artifact)) return latest;
  }
  return await artifactService.saveArtifact({ ...file, artifact });
}

function isSameFile({ inlineData: one }: Part, { inlineData: other }: Part): boolean {
  const bytes = (data = '') => Buffer.from(data, 'base64');
  return one?.mimeType === other?.mimeType && bytes(one?.data).equals(bytes(other?.data));
}
