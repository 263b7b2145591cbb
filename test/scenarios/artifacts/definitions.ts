import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AgentTool, type Context, FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';
import { remoteAgent, remoteTool } from '@agentmesh/mesh';
import { z } from 'zod';

const { MODEL_URL = '' } = process.env;
const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Returns the bytes that this process holds, without garbage: how much of that there is, V8 decides. */
function liveBytes(): number {
  // The second collection ends the first one, which frees buffers in the background.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Measures by how much the memory of this process rises during some work, in bytes. */
async function riseOf<T>(work: () => Promise<T>): Promise<{ result: T; rise: number }> {
  const before = liveBytes();
  let most = before;
  const look = setInterval(() => {
    most = Math.max(most, liveBytes());
  }, 500);
  const result = await work();
  clearInterval(look);
  return { result, rise: most - before };
}

/** A tool in its own process that saves a file again under another name. */
export const copyFile = new FunctionTool({
  name: 'copy_file',
  description: 'copies a file',
  usesArtifacts: true,
  parameters: z.object({ name: z.string() }),
  async execute({ name }, context?: Context) {
    const found = await context?.loadArtifactStream(name);
    if (!context || !found) return { error: `no ${name}` };
    const hash = createHash('sha256');
    const note = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        hash.update(chunk);
        controller.enqueue(chunk);
      },
    });
    const { mimeType, size } = found;
    const stream = found.stream.pipeThrough(note);
    const { result: version, rise } = await riseOf(() =>
      context.saveArtifactStream(`copy_${name}`, { stream, mimeType, customMetadata: { of: name } }),
    );
    return { version, size, sha256: hash.digest('hex'), rise, pid: process.pid };
  },
});

export const helper = new LlmAgent({
  name: 'helper',
  description: 'copies files for others',
  model,
  tools: [remoteTool('copy_file')],
});

export const archivist = new LlmAgent({
  name: 'archivist',
  description: 'keeps files',
  usesArtifacts: true,
  model,
  tools: [remoteTool('copy_file'), new AgentTool({ agent: remoteAgent('helper') })],
});
