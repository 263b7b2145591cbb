import { type Event, type EventActions, MeshError } from '@agentmesh/protocol';
import type { FunctionCall, Part } from '@google/genai';
import type { BaseTool } from '../base-tool.ts';
import { Context } from '../context.ts';
import { createEvent, createEventActions, mergeEventActions } from '../event.ts';
import type { InvocationContext, TransferTarget } from '../invocation-context.ts';
import type { LlmAgent } from '../llm-agent.ts';
import { originOf } from './origin.ts';
import { resolveTools } from './request.ts';

interface CallOutcome {
  part: Part | undefined;
  actions: EventActions;
}

/**
 * Makes the calls of one model turn at the same time and yields their responses as one event, in the order of the calls. Nothing is
 * yielded when all of them are long-running and have no first result.
 */
export async function* callTools(
  agent: LlmAgent,
  context: InvocationContext,
  calls: readonly FunctionCall[],
): AsyncGenerator<Event, void, void> {
  const step = await resolveTools(agent, context);
  const outcomes = await Promise.all(calls.map((call) => callOne(agent, context, step, call)));
  const parts = outcomes.flatMap(({ part }) => part ?? []);
  if (parts.length === 0) return;
  yield createEvent({
    invocationId: context.invocationId,
    author: agent.name,
    ...(context.branch !== undefined && { branch: context.branch }),
    content: { role: 'user', parts },
    actions: mergeEventActions(outcomes.map(({ actions }) => actions)),
  });
}

type ResolvedTools = Awaited<ReturnType<typeof resolveTools>>;

async function callOne(
  agent: LlmAgent,
  context: InvocationContext,
  { toolsDict, targets }: ResolvedTools,
  { id, name = '', args = {} }: FunctionCall,
): Promise<CallOutcome> {
  const actions = createEventActions();
  const toolContext = new Context(originOf(context), {
    actions,
    ...(id !== undefined && { functionCallId: id }),
  });
  const tool = toolsDict[name];
  const respond = (response: Record<string, unknown>): CallOutcome => ({
    part: { functionResponse: { ...(id !== undefined && { id }), name, response } },
    actions,
  });
  if (!tool) {
    const known = Object.keys(toolsDict).join(', ') || 'none';
    return respond({ error: `there is no tool "${name}"; the tools are: ${known}` });
  }
  const response = await executeTool(tool, args, toolContext);
  const problem = transferProblem(agent, context, targets, actions.transferToAgent);
  if (problem) {
    delete actions.transferToAgent;
    return respond({ error: `tool ${name}: ${problem}` });
  }
  return response ? respond(response) : { part: undefined, actions };
}

/** Why a transfer that a tool asked for cannot be; said to the model before it is tried, so that it can choose again. */
function transferProblem(
  agent: LlmAgent,
  { transfers }: InvocationContext,
  targets: readonly TransferTarget[],
  to: string | undefined,
): string | undefined {
  if (to === undefined) return undefined;
  const local = agent.rootAgent.findAgent(to);
  if (!local && !targets.some(({ name }) => name === to)) return `"${to}" is no agent of this application`;
  const elsewhere = !local || local.isRemote;
  return elsewhere && transfers && !transfers.knows(to) ? `agent "${to}" is not in the mesh now` : undefined;
}

/**
 * Runs a tool and gives what the model is told: its result as a JSON object, or the error in words. Undefined for a long-running tool
 * that has no first result.
 */
export async function executeTool(
  tool: BaseTool,
  args: Record<string, unknown>,
  toolContext: Context,
): Promise<Record<string, unknown> | undefined> {
  try {
    const result = await tool.runAsync({ args, toolContext });
    if (tool.isLongRunning && (result === undefined || result === null)) return undefined;
    return wrapResult(result);
  } catch (error) {
    toolContext.abortSignal?.throwIfAborted();
    return { error: errorText(tool.name, error) };
  }
}

/**
 * Function responses are objects: lists are put under `results`, all else under `result`. What the model, the log and every process see
 * is the result as JSON has it.
 */
function wrapResult(result: unknown): Record<string, unknown> {
  const text = JSON.stringify(result);
  const json: unknown = text === undefined ? null : JSON.parse(text);
  if (Array.isArray(json)) return { results: json };
  return typeof json === 'object' && json !== null ? { ...json } : { result: json };
}

function errorText(tool: string, error: unknown): string {
  if (error instanceof MeshError && error.code === 'invalid_argument') return error.message;
  return `tool ${tool} failed: ${error instanceof Error ? error.message : String(error)}`;
}
