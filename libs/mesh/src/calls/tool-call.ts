import { type BaseTool, Context, createEventActions, type InvocationServices } from '@agentmesh/agent';
import {
  asGenerator,
  type ContextOptions,
  type ContextOrigin,
  failureOf,
  isCallersFault,
  isCredentialFailure,
  newFunctionCallId,
  newInvocationId,
  type ToolOutcome,
  toolErrorText,
  withCredentials,
  workOf,
} from '@agentmesh/agent/internal';
import { type Caller, type Headers, MeshError, type ToolCall, type ToolResult } from '@agentmesh/protocol';
import { inArtifactSession } from '../artifacts/artifact-session.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { signalUntilDone } from '../messages/deadline.ts';

/** The facts about a call that are not in its message. */
export interface CallFacts extends Pick<ContextOptions, 'attempt' | 'lastProgress'> {
  /** The authenticated caller who began the run. */
  caller?: Caller | undefined;
  /** The headers that name the span of the call. */
  carrier?: Headers | undefined;
}

/**
 * Returns the caller who began the run of a call. @throws MeshError `permission_denied` for an identity that no
 * gateway signed for this run
 */
export async function callerOf(
  { callers }: Pick<Mesh, 'callers'>,
  { context }: ToolCall,
  headers: Headers,
): Promise<Caller | undefined> {
  if (!context) return undefined;
  const { app: appName, user: userId, invocationId } = context;
  return await callers.read(headers, { appName, userId, invocationId });
}

/**
 * Runs a tool for a call of another process. Yields its progress; returns its result, also when it failed.
 *
 * @throws the abort reason of the signal, and the error of a credential that could not be obtained or kept
 */
export async function* runTool(
  tool: BaseTool,
  call: ToolCall,
  services: InvocationServices,
  abortSignal: AbortSignal,
  about: CallFacts = {},
): AsyncGenerator<Record<string, unknown>, ToolResult, void> {
  using until = signalUntilDone(abortSignal);
  const toolContext = contextOf(call, services, until.signal, about);
  const { actions } = toolContext;
  const run = asGenerator<Record<string, unknown>, ToolOutcome>((emit) =>
    withCredentials(tool, toolContext, () => workOf(tool, call.args, toolContext, emit, about.carrier)),
  );
  try {
    for (;;) {
      const step = await run.next();
      if (step.done) return { response: step.value.response, isLastWord: step.value.isLastWord, actions };
      yield step.value;
    }
  } catch (error) {
    abortSignal.throwIfAborted();
    if (isCredentialFailure(error)) throw error;
    if (!isCallersFault(error)) services.onFailure?.(failureOf(tool, toolContext, error));
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof MeshError ? error.code : undefined;
    const failed = { message, ...(code !== undefined && { code }) };
    return { response: { error: toolErrorText(tool.name, error) }, failed, actions };
  } finally {
    await run.return({ response: undefined, isLastWord: false });
  }
}

/** Tells whether a person must confirm the call before the tool runs and has not done so. */
export async function waitsForPerson(
  tool: BaseTool,
  call: ToolCall,
  services: InvocationServices,
  abortSignal: AbortSignal,
  caller: Caller | undefined,
): Promise<boolean> {
  if (call.toolConfirmation?.confirmed) return false;
  using until = signalUntilDone(abortSignal);
  const toolContext = contextOf(call, services, until.signal, { caller });
  try {
    return await tool.checkRequireConfirmation(call.args, toolContext);
  } catch {
    // The arguments do not fit: the call itself reports it best.
    return true;
  }
}

function contextOf(
  call: ToolCall,
  services: InvocationServices,
  abortSignal: AbortSignal,
  { caller, carrier: _carrier, ...about }: CallFacts,
): Context {
  const { toolConfirmation, inputResponse, answers, hasSignIn, callEventId } = call;
  const { callId = newFunctionCallId() } = call;
  const operationSubject = call.context?.operationSubject;
  return new Context(
    {
      ...originOf(call, abortSignal),
      caller,
      services: inArtifactSession(services, call.context?.artifactSession),
    },
    {
      actions: createEventActions(),
      functionCallId: callId,
      ...(callEventId !== undefined && { functionCallEventId: callEventId }),
      answers,
      ...(hasSignIn !== undefined && { hasSignIn }),
      inputResponse,
      ...about,
      ...(operationSubject !== undefined && { operationSubject }),
      ...(toolConfirmation && { toolConfirmation }),
    },
  );
}

/** Returns the origin of a call. A bare call from outside the mesh has empty names. */
function originOf({ context }: ToolCall, abortSignal: AbortSignal): ContextOrigin {
  const from = context ?? {
    app: '',
    user: '',
    session: '',
    invocationId: newInvocationId(),
    agent: '',
    state: {},
  };
  return {
    invocationId: from.invocationId,
    agentName: from.agent,
    session: { id: from.session, appName: from.app, userId: from.user, state: { ...from.state } },
    userContent: context?.userContent,
    abortSignal,
  };
}
