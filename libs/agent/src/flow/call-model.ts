import { type Event, MeshError } from '@agentmesh/protocol';
import { ApiError } from '@google/genai';
import { answerText, createEvent, getFunctionCalls, isFinalResponse, newFunctionCallId } from '../event.ts';
import type { InvocationContext } from '../invocation-context.ts';
import type { LlmAgent } from '../llm-agent.ts';
import type { LlmRequest, LlmResponse } from '../models/llm.ts';
import { buildRequest } from './request.ts';

/** Asks the agent's model once and yields its answer: pieces as partial events, then the one to keep. */
export async function* callModel(
  agent: LlmAgent,
  context: InvocationContext,
): AsyncGenerator<Event, void, void> {
  const request = await buildRequest(agent, context);
  try {
    await countCall(context);
    const options = { stream: context.runConfig.streamingMode === 'sse', signal: context.abortSignal };
    for await (const response of agent.llm.generateContentAsync(request, options)) {
      yield toEvent(agent, context, request, response);
    }
  } catch (error) {
    context.abortSignal?.throwIfAborted();
    yield createEvent({ ...origin(agent, context), ...describeFailure(error) });
  }
}

async function countCall({ sessionService, ref, runConfig }: InvocationContext): Promise<void> {
  const { maxLlmCalls } = runConfig;
  const calls = await sessionService.countLlmCall(ref);
  if (maxLlmCalls > 0 && calls > maxLlmCalls) {
    throw new MeshError(
      'resource_exhausted',
      `the invocation may make ${maxLlmCalls} model calls and has made them`,
    );
  }
}

function origin(agent: LlmAgent, { invocationId, branch }: InvocationContext): Partial<Event> {
  return { author: agent.name, invocationId, ...(branch !== undefined && { branch }) };
}

function toEvent(
  agent: LlmAgent,
  context: InvocationContext,
  request: LlmRequest,
  response: LlmResponse,
): Event {
  const event = createEvent({ ...response, ...origin(agent, context) });
  if (event.partial) return event;
  for (const call of getFunctionCalls(event)) call.id ||= newFunctionCallId();
  event.longRunningToolIds = getFunctionCalls(event).flatMap(({ id, name }) =>
    id !== undefined && request.toolsDict[name ?? '']?.isLongRunning ? [id] : [],
  );
  if (agent.outputKey !== undefined && isFinalResponse(event) && event.content) {
    event.actions.stateDelta[agent.outputKey] = answerText(event);
  }
  return event;
}

/** A model's failure ends the agent's turn with an event that says so; the run itself goes on to its end. */
function describeFailure(error: unknown): Pick<Event, 'errorCode' | 'errorMessage'> {
  if (error instanceof ApiError) return { errorCode: String(error.status), errorMessage: error.message };
  if (error instanceof MeshError) return { errorCode: error.code, errorMessage: error.message };
  return { errorCode: 'UNKNOWN_ERROR', errorMessage: error instanceof Error ? error.message : String(error) };
}
