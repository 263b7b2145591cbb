import { beginUnder, MeshError } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import type { LlmRequest } from '../base/base-llm.ts';
import { appendInstructions, lendContents } from '../base/base-llm.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { Context, ReadonlyContext } from '../base/context.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { originOf } from '../base/readonly-context.ts';
import type { TransferTarget } from '../base/transfer-port.ts';
import { asWords } from '../code-executors/code-blocks.ts';
import { promptView } from '../compaction/prompt-view.ts';
import { copyJson } from '../events/copy-json.ts';
import { createEventActions } from '../events/event.ts';
import { clientContext } from '../journal/client-input.ts';
import { buildContents } from '../prompt/contents.ts';
import { readInstruction } from '../prompt/instructions.ts';
import {
  responseSchemaOf,
  SetModelResponseTool,
  setModelResponseInstruction,
} from '../prompt/output-schema.ts';
import { toolsOfClient } from '../tools/client-tool.ts';
import type { LlmAgent } from './llm-agent.ts';
import { TransferToAgentTool, transferInstruction } from './transfer.ts';

/** The number of contents from which on a copy costs more than to lend them. */
const leastLent = 20;

/** The tools and transfer targets of one step. Its request to the model decides which of the tools may run. */
export interface StepTools {
  targets: TransferTarget[];
  toolsDict: Record<string, BaseTool>;
}

/**
 * Builds the model's request: the agent's identity and instructions, its colleagues and tools, and the
 * conversation.
 */
export async function buildRequest(
  agent: LlmAgent,
  context: InvocationContext,
  toolContext: Context,
  { targets, toolsDict }: StepTools,
): Promise<LlmRequest> {
  const hasTools = Object.keys(toolsDict).length > 0;
  const { outputSchema } = agent;
  const readonlyContext = new ReadonlyContext(originOf(context));
  const instructions = [
    identity(agent, targets.length > 0),
    await readInstruction(globalInstruction(agent, context), readonlyContext),
    await readInstruction(agent.instruction, readonlyContext),
    targets.length > 0 ? transferInstruction(targets) : '',
    outputSchema && hasTools ? setModelResponseInstruction : '',
  ];
  const contents = buildContents({
    ...promptView(agent, context),
    invocationId: context.invocationId,
    agentName: agent.name,
    branch: context.branch,
    include: agent.includeContents,
    clientContext: clientContext(context),
  }).map((content) => asWords(content, agent.codeExecutor));
  const config = {
    ...agent.generateContentConfig,
    ...(outputSchema && !hasTools && responseSchemaOf(outputSchema)),
  };
  const parts = { model: agent.llm.model, config, toolsDict: Object.create(null) };
  const isShort = contents.length < leastLent;
  const request: LlmRequest = isShort
    ? { ...parts, contents: contents.map(copyJson) }
    : lendContents(parts, contents);
  appendInstructions(request, instructions);
  await addTools(agent, context, toolContext, toolsDict, request);
  agent.codeExecutor?.processLlmRequest(request);
  return request;
}

async function addTools(
  agent: LlmAgent,
  { carrier }: InvocationContext,
  toolContext: Context,
  toolsDict: StepTools['toolsDict'],
  llmRequest: LlmRequest,
): Promise<void> {
  for (const toolset of agent.toolsets) await toolset.processLlmRequest(toolContext, llmRequest);
  for (const tool of Object.values(toolsDict))
    await beginUnder(carrier, () => tool.processLlmRequest({ toolContext, llmRequest }));
}

/**
 * Returns the tools of a step whose calls a process makes that has not asked the model. The tools that only a request
 * has, because a tool or a toolset adds them to it, are found when one of them is called.
 */
export async function resolveCalledTools(
  agent: LlmAgent,
  context: InvocationContext,
  calls: readonly FunctionCall[],
): Promise<StepTools> {
  const tools = await resolveTools(agent, context);
  if (calls.every(({ name = '' }) => name in tools.toolsDict)) return tools;
  const toolContext = new Context(originOf(context), { actions: createEventActions() });
  const request: LlmRequest = { model: '', contents: [], config: {}, toolsDict: Object.create(null) };
  await addTools(agent, context, toolContext, tools.toolsDict, request);
  return { ...tools, toolsDict: { ...tools.toolsDict, ...request.toolsDict } };
}

/** Returns the global instruction of the root agent, in this process or another. */
function globalInstruction({ rootAgent }: LlmAgent, { transfers, appName }: InvocationContext) {
  return rootAgent.globalInstruction || (transfers?.globalInstruction?.(appName) ?? '');
}

/**
 * Returns the tools of this step by name, with the tools that the framework adds: `transfer_to_agent` when
 * there is a transfer target, `set_model_response` when the answer must fit a schema. The tools of the client
 * are among them. Plugins may leave some out.
 *
 * @throws MeshError `invalid_argument` for two tools of one name
 */
export async function resolveTools(agent: LlmAgent, context: InvocationContext): Promise<StepTools> {
  const targets = agent.transferTargets(context);
  const ownTools = await agent.canonicalTools(new ReadonlyContext(originOf(context)));
  const ofClient = toolsOfClient(context);
  const tools = [...ownTools, ...ofClient];
  if (targets.length > 0) tools.push(new TransferToAgentTool(targets));
  if (agent.outputSchema && tools.length > 0) tools.push(new SetModelResponseTool(agent.outputSchema));
  const all: Record<string, BaseTool> = Object.create(null);
  for (const tool of tools) {
    const { name } = tool;
    if (all[name]) {
      const problem = ofClient.includes(tool)
        ? `the client declares the tool ${name}, and agent ${agent.name} has a tool of this name`
        : `agent ${agent.name} has two tools called ${name}`;
      throw new MeshError('invalid_argument', `${problem}; rename one`);
    }
    all[name] = tool;
  }
  const { pluginManager } = context;
  if (!pluginManager.has('beforeToolSelection')) return { targets, toolsDict: all };
  const callbackContext = new Context(originOf(context), { actions: createEventActions() });
  const selected = await pluginManager.run('beforeToolSelection', { callbackContext, tools: all });
  return { targets, toolsDict: selected ? { ...selected } : all };
}

/** States the agent's own name and description. An agent that works with other agents needs both. */
function identity({ name, description }: LlmAgent, hasColleagues: boolean): string {
  if (!hasColleagues) return '';
  return `You are the agent "${name}".${description ? ` Your job: ${description}` : ''}`;
}
