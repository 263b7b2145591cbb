import { randomUUID } from 'node:crypto';
import {
  type BaseTool,
  Context,
  type ContextOrigin,
  createEventActions,
  executeTool,
  type InvocationServices,
  newFunctionCallId,
  newInvocationId,
  toolErrorText,
  withEmitted,
} from '@agentmesh/agent';
import type { IncomingRequest, Started } from '@agentmesh/bus';
import {
  type Frame,
  MeshError,
  parse,
  type ToolCall,
  type ToolResult,
  toolCallSchema,
} from '@agentmesh/protocol';
import { type Cancellations, listenForCancellations } from './cancellations.ts';
import type { Mesh } from './mesh.ts';
import { oncePerCall } from './once-per-call.ts';
import { stopAll } from './stop.ts';

export interface ServeToolOptions extends InvocationServices {
  version?: string;
  /** Calls worked on at once by this replica; callers over it are turned away and try another. Default 64. */
  maxInFlight?: number;
  /** How long a result is kept for repeats of its call, in ms; default one day. */
  resultTtlMs?: number;
}

const dayMs = 86_400_000;

/** Puts a tool on the mesh: its card and its calls. Any number of processes may serve the same tool; they share the calls. */
export async function serveTool(
  mesh: Mesh,
  tool: BaseTool,
  options: ServeToolOptions = {},
): Promise<Started> {
  const { version = '0.0.0', maxInFlight = 64, resultTtlMs = dayMs, ...services } = options;
  const { name, description, isLongRunning } = tool;
  const stopping = new AbortController();
  const subject = mesh.subjects.toolCall(name);
  const declaration = tool.getDeclaration();
  await mesh.bus.announce({
    kind: 'tool',
    name,
    description,
    version,
    declaration: { description, ...declaration, name },
    longRunning: isLongRunning,
  });
  const cancellations = await listenForCancellations(mesh);
  const callOptions = { resultTtlMs, services, stopping: stopping.signal, cancellations };
  const calls = await mesh.bus.serve(subject, (request) => handleCall(mesh, tool, callOptions, request), {
    maxInFlight,
  });
  const shown = await mesh.bus.register(
    { kind: 'tool', name: mesh.subjects.shownAs(name), version, description },
    [subject],
  );
  mesh.log.info({ tool: name, maxInFlight }, 'serving tool');
  return {
    async stop({ graceMs = 25_000 } = {}) {
      await stopAll([shown, calls], graceMs, stopping);
      await cancellations.stop();
    },
  };
}

/** Answers one call: with the result of its id, or by doing the work. */
async function* handleCall(
  mesh: Mesh,
  tool: BaseTool,
  { resultTtlMs, services, stopping, cancellations }: CallOptions,
  request: IncomingRequest,
): AsyncGenerator<Frame, void, void> {
  const call = parse(toolCallSchema, request.json(), `the call of tool ${tool.name}`);
  using cancel = cancellations.signalOf(call.context?.invocationId ?? '');
  const signal = AbortSignal.any([request.signal, stopping, cancel.signal]);
  const holder = `${mesh.bus.replica}/${randomUUID()}`;
  const once = { results: mesh.callResults, tool: tool.name, holder, resultTtlMs, signal };
  const data = yield* withEmitted<Frame, ToolResult>(async function* (emit) {
    const report = (progress: unknown) => emit({ type: 'progress', data: progress });
    return await oncePerCall(once, call, () => runTool(tool, call, services, signal, report));
  });
  yield { type: 'result', data };
}

interface CallOptions {
  resultTtlMs: number;
  services: InvocationServices;
  stopping: AbortSignal;
  cancellations: Cancellations;
}

async function runTool(
  tool: BaseTool,
  call: ToolCall,
  services: InvocationServices,
  abortSignal: AbortSignal,
  report: (progress: unknown) => void,
): Promise<ToolResult> {
  const actions = createEventActions();
  const functionCallId = call.callId ?? newFunctionCallId();
  const { toolConfirmation, inputResponse, answers } = call;
  const toolContext = new Context(
    { ...originOf(call, abortSignal), services },
    { actions, functionCallId, answers, inputResponse, ...(toolConfirmation && { toolConfirmation }) },
  );
  try {
    const run = executeTool(tool, call.args, toolContext);
    for (;;) {
      const step = await run.next();
      if (!step.done) report(step.value);
      else return { response: step.value.response, isLastWord: step.value.isLastWord, actions };
    }
  } catch (error) {
    abortSignal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof MeshError ? error.code : undefined;
    const failed = { message, ...(code !== undefined && { code }) };
    return { response: { error: toolErrorText(tool.name, error) }, failed, actions };
  }
}

/** Where a call comes from; a bare call from outside the mesh comes from nowhere. */
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
