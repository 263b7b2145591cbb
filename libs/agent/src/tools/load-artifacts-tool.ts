import type { Content, FunctionDeclaration, Part } from '@google/genai';
import { appendInstructions, readContents } from '../base/base-llm.ts';
import { BaseTool, type RunToolRequest, type ToolProcessLlmRequest } from '../base/base-tool.ts';
import type { Context } from '../base/context.ts';
import { Type } from '../schema/genai.ts';

/**
 * Size of the largest file that is shown to a model, in bytes. Models refuse requests that are much larger.
 */
const maxShownBytes = 15 * 1024 * 1024;

/**
 * The tool by which a model reads files. The instruction lists their names; the content of the requested
 * files is in the next request only. The session's log holds names, not files.
 */
export class LoadArtifactsTool extends BaseTool {
  constructor() {
    super({
      name: 'load_artifacts',
      description: 'Loads files of this conversation, and shows what is in them.',
      usesArtifacts: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    const artifact_names = {
      type: Type.ARRAY,
      items: { type: Type.STRING },
      description: 'The names of the files.',
    };
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: { artifact_names }, required: ['artifact_names'] },
    };
  }

  override async runAsync({ args }: RunToolRequest): Promise<unknown> {
    return { artifact_names: namesIn(args), status: 'the files follow' };
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    const { toolContext, llmRequest } = request;
    const names = await toolContext.listArtifacts();
    if (names.length === 0) return;
    appendInstructions(llmRequest, [
      `There are these files: ${JSON.stringify(names)}.
When the user asks about one of them, call ${this.name} with its name before you answer. Never make up what is in a file.`,
    ]);
    const requestedNames = readContents(llmRequest)
      .at(-1)
      ?.parts?.flatMap(({ functionResponse }) =>
        functionResponse?.name === this.name ? namesIn(functionResponse.response) : [],
      );
    for (const name of new Set(requestedNames)) llmRequest.contents.push(await show(name, toolContext));
  }
}

/** A shared instance: it has no state. */
export const loadArtifactsTool = new LoadArtifactsTool();

function namesIn(args: Record<string, unknown> | undefined): string[] {
  const names = args?.artifact_names;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string' && name !== '') : [];
}

async function show(name: string, toolContext: Context): Promise<Content> {
  const say = (...parts: Part[]): Content => ({ role: 'user', parts });
  // The model may leave out the prefix `user:`.
  for (const filename of name.startsWith('user:') ? [name] : [name, `user:${name}`]) {
    const metadata = await toolContext.getArtifactVersion(filename);
    if (!metadata) continue;
    if (metadata.size > maxShownBytes)
      return say({ text: `Artifact ${filename} has ${metadata.size} bytes: too many to be shown.` });
    const part = await toolContext.loadArtifact(filename, metadata.version);
    if (part) return say({ text: `Artifact ${filename} is:` }, part);
  }
  return say({ text: `There is no artifact ${name}.` });
}
