import { randomUUID } from 'node:crypto';
import type { BaseTool, InvocationServices } from '@agentmesh/agent';
import { invocationServiceNames, withEmitted } from '@agentmesh/agent/internal';
import type { IncomingRequest, Started } from '@agentmesh/bus';
import {
  assertOptions,
  type Frame,
  type OptionNames,
  type ToolCall,
  type ToolResult,
  toolCallSchema,
} from '@agentmesh/protocol';
import { followJob } from '../calls/follow-job.ts';
import { handleJob } from '../calls/handle-job.ts';
import { oncePerCall } from '../calls/once-per-call.ts';
import { runTool, waitsForPerson } from '../calls/tool-call.ts';
import { type Cancellations, listenForCancellations } from '../mesh/cancellations.ts';
import { type Mesh, meshServices } from '../mesh/mesh.ts';
import { withOutcome } from '../mesh/outcomes.ts';
import { stopAll } from '../mesh/stop-all.ts';
import { readPayload } from '../messages/read-payload.ts';

export interface ServeToolOptions extends InvocationServices {
  version?: string;
  /** Calls worked on at once by this replica; callers over it are turned away and try another. Default 64. */
  maxInFlight?: number;
  /** How long a result is kept for repeats of its call, in ms; default one day. */
  resultTtlMs?: number;
  /** Of a long-running tool: jobs worked on at once by this replica; default 4. */
  jobSlots?: number;
  /**
   * Of a long-running tool: how long the agent that called waits for the result, in ms; then its run goes on with what the tool has said so far, and
   * the result comes later. Default 5 s.
   */
  patienceMs?: number;
}

export const serveToolOptions: OptionNames<ServeToolOptions> = {
  ...invocationServiceNames,
  version: true,
  maxInFlight: true,
  resultTtlMs: true,
  jobSlots: true,
  patienceMs: true,
};

const dayMs = 86_400_000;
/** How long a stopping process works on at jobs, in ms: one that is about to end may; another replica goes on with the others at once. */
const jobGraceMs = 2_000;

/**
 * Puts a tool on the mesh: its card and its calls. Any number of processes may serve the same tool; they share the calls. The calls of a long-running
 * tool are jobs in a queue: they outlive the process that works on them, and the run of the agent that called.
 *
 * @throws MeshError `invalid_argument` for an unknown option
 */
export async function serveTool(
  mesh: Mesh,
  tool: BaseTool,
  options: ServeToolOptions = {},
): Promise<Started> {
  assertOptions(`serveTool ${tool.name}`, options, serveToolOptions);
  const {
    version = '0.0.0',
    maxInFlight = 64,
    resultTtlMs = dayMs,
    jobSlots = 4,
    patienceMs = 5_000,
    ...services
  } = options;
  const { name, description, isLongRunning, answerWithinMs } = tool;
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
    ...(answerWithinMs !== undefined && { answerWithinMs }),
  });
  const cancellations = await listenForCancellations(mesh);
  const served: ServedTool = {
    mesh,
    tool,
    services: { ...meshServices(mesh), ...services },
    cancellations,
    resultTtlMs,
    patienceMs,
    stopping: stopping.signal,
  };
  const handingBack = new AbortController();
  const jobs = isLongRunning
    ? [
        await mesh.bus.consumeJobs(
          name,
          (item) => handleJob({ ...served, stopping: handingBack.signal }, item),
          { slots: jobSlots },
        ),
      ]
    : [];
  const calls = await mesh.bus.serve(subject, (request) => handleCall(served, request), { maxInFlight });
  const shown = await mesh.bus.register(
    { kind: 'tool', name: mesh.subjects.shownAs(name), version, description },
    [subject],
  );
  mesh.log.info({ tool: name, maxInFlight }, 'serving tool');
  return {
    async stop({ graceMs = 25_000 } = {}) {
      await Promise.all([
        stopAll([shown, calls], graceMs, stopping),
        stopAll(jobs, Math.min(graceMs, jobGraceMs), handingBack),
      ]);
      await cancellations.stop();
    },
  };
}

/** A tool as its handlers see it. */
interface ServedTool {
  mesh: Mesh;
  tool: BaseTool;
  services: InvocationServices;
  cancellations: Cancellations;
  resultTtlMs: number;
  patienceMs: number;
  /** Aborted when the process stops and will not wait any longer. */
  stopping: AbortSignal;
}

/** Answers one call and logs its end. */
function handleCall(served: ServedTool, request: IncomingRequest): AsyncGenerator<Frame, void, void> {
  const { mesh, tool } = served;
  const call = readPayload(toolCallSchema, request, `the call of tool ${tool.name}`);
  const { callId, context } = call;
  const ids = {
    tool: tool.name,
    ...(callId !== undefined && { callId }),
    ...(context && { agent: context.agent, invocationId: context.invocationId, session: context.session }),
  };
  return withOutcome(mesh.log, 'call ended', ids, answerCall(served, request, call));
}

/** Answers one call: with the result of its id, or by doing the work, or of a long-running tool by having it done. */
async function* answerCall(
  served: ServedTool,
  request: IncomingRequest,
  call: ToolCall,
): AsyncGenerator<Frame, void, void> {
  const { mesh, tool, services } = served;
  using cancel = served.cancellations.signalOf(call.context?.invocationId ?? '');
  const signal = AbortSignal.any([request.signal, served.stopping, cancel.signal]);
  const { callId, context } = call;
  if (!tool.isLongRunning || callId === undefined || (await waitsForPerson(tool, call, services, signal))) {
    yield* answerHere(served, call, signal);
    return;
  }
  yield* followJob(
    mesh,
    { ...call, callId },
    {
      tool: tool.name,
      headers: request.headers,
      // Whoever cannot be told later waits for the end.
      patienceMs: context?.operationSubject === undefined ? Number.POSITIVE_INFINITY : served.patienceMs,
      signal,
    },
  );
}

async function* answerHere(
  { mesh, tool, services, resultTtlMs }: ServedTool,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<Frame, void, void> {
  const holder = `${mesh.bus.replica}/${randomUUID()}`;
  const once = { results: mesh.callResults, tool: tool.name, holder, resultTtlMs, signal };
  const data = yield* withEmitted<Frame, ToolResult>(async function* (emit) {
    const report = (progress: unknown) => emit({ type: 'progress', data: progress });
    return await oncePerCall(once, call, () => reportAll(runTool(tool, call, services, signal), report));
  });
  yield { type: 'result', data };
}

async function reportAll(
  run: AsyncGenerator<unknown, ToolResult, void>,
  report: (progress: unknown) => void,
): Promise<ToolResult> {
  for (;;) {
    const step = await run.next();
    if (step.done) return step.value;
    report(step.value);
  }
}
