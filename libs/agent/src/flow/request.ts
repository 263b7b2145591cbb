import { MeshError } from '@agentmesh/protocol';
import type { BaseTool } from '../base-tool.ts';
import { ReadonlyContext } from '../context.ts';
import type { InvocationContext } from '../invocation-context.ts';
import type { LlmAgent } from '../llm-agent.ts';
import type { LlmRequest } from '../models/llm.ts';
import { buildContents } from './contents.ts';
import { fillInstruction } from './instructions.ts';
import { originOf } from './origin.ts';
import { TransferToAgentTool, transferInstruction } from './transfer.ts';

/** Puts together what the model gets: who it is, what it shall do, whom and what it may call, what was said. */
export async function buildRequest(agent: LlmAgent, context: InvocationContext): Promise<LlmRequest> {
  const { targets, toolsDict } = await resolveTools(agent, context);
  const functionDeclarations = Object.values(toolsDict).flatMap((tool) => tool.getDeclaration() ?? []);
  const instructions = [
    identity(agent, targets.length > 0),
    await readInstruction(agent, context),
    targets.length > 0 ? transferInstruction(targets) : '',
  ].filter((text) => text !== '');
  return {
    model: agent.llm.model,
    contents: buildContents({
      events: context.session.events,
      agentName: agent.name,
      branch: context.branch,
      include: agent.includeContents,
    }),
    config: {
      ...agent.generateContentConfig,
      ...(instructions.length > 0 && { systemInstruction: instructions.join('\n\n') }),
      ...(functionDeclarations.length > 0 && { tools: [{ functionDeclarations }] }),
    },
    toolsDict,
  };
}

/** The tools of this step by name, `transfer_to_agent` among them where there is somebody to transfer to. */
export async function resolveTools(agent: LlmAgent, context: InvocationContext) {
  const targets = agent.transferTargets(context);
  const tools = await agent.canonicalTools();
  if (targets.length > 0) tools.push(new TransferToAgentTool(targets));
  const toolsDict: Record<string, BaseTool> = Object.create(null);
  for (const tool of tools) {
    if (toolsDict[tool.name]) {
      throw new MeshError(
        'invalid_argument',
        `agent ${agent.name} has two tools called ${tool.name}; rename one`,
      );
    }
    toolsDict[tool.name] = tool;
  }
  return { targets, toolsDict };
}

/** An agent that works with others needs to know which of them it is. */
function identity({ name, description }: LlmAgent, hasColleagues: boolean): string {
  if (!hasColleagues) return '';
  return `You are the agent "${name}".${description ? ` Your job: ${description}` : ''}`;
}

async function readInstruction({ instruction }: LlmAgent, context: InvocationContext): Promise<string> {
  if (typeof instruction === 'string') return fillInstruction(instruction, context.session.state);
  return await instruction(new ReadonlyContext(originOf(context)));
}
