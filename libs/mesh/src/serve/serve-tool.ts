import { BaseTool, type InvocationServices } from '@agentmesh/agent';
import { asGenerator, invocationServiceNames } from '@agentmesh/agent/internal';
import type { IncomingRequest, Started } from '@agentmesh/bus';
import {
  assertOptions,
  type CardInput,
  type Frame,
  MeshError,
  type OptionNames,
  type ToolCall,
  type ToolResult,
  toolCallSchema,
  traceIdOf,
} from '@agentmesh/protocol';
import { followJob } from '../calls/follow-job.ts';
import { handleJob } from '../calls/handle-job.ts';
import { createOncePerCall, type OncePerCall } from '../calls/once-per-call.ts';
import { createTakeWork, defaultLeaseMs, type TakeWork } from '../calls/take-work.ts';
import { type CallFacts, callerOf, runTool, waitsForPerson } from '../calls/tool-call.ts';
import { createWorkInHand, type WorkInHand } from '../calls/work-in-hand.ts';
import { type Cancellations, listenForCancellations } from '../mesh/cancellations.ts';
import { type Mesh, meshServices } from '../mesh/mesh.ts';
import { createTally, type Tally, withOutcome } from '../mesh/outcomes.ts';
import { stopAll } from '../mesh/stop-all.ts';
import { readPayload } from '../messages/read-payload.ts';
import { announceCard } from './announce-card.ts';
import { restoreCard } from './keep-card.ts';

export interface ServeToolOptions extends InvocationServices {
  /** The version that the card shows; default 0.0.0. */
  version?: string;
  /**
   * Number of calls that this replica works on at once; further callers are refused and try another replica.
   * Default 64.
   */
  maxConcurrency?: number;
  /** Time for which a result is kept for repeats of its call, in ms; default one day. */
  resultTtlMs?: number;
  /** For a long-running tool: number of jobs that this replica works on at once; default 4. */
  jobSlots?: number;
  /**
   * For a long-running tool: time that the calling agent waits for the result, in ms. Then its run goes on
   * with the latest progress, and the result comes later. Default 5 s.
   */
  patienceMs?: number;
  /**
   * Time without a sign of life in the store after which another replica asks whether this process is gone, in
   * ms. Then it takes the calls and jobs of this process over. Default 3 s.
   */
  leaseMs?: number;
}

export const serveToolOptions: OptionNames<ServeToolOptions> = {
  ...invocationServiceNames,
  version: true,
  maxConcurrency: true,
  resultTtlMs: true,
  jobSlots: true,
  patienceMs: true,
  leaseMs: true,
};

const dayMs = 86_400_000;
/**
 * Time that a stopping process continues its jobs, in ms: a job near its end may finish. After that another
 * replica continues the jobs that are left.
 */
const jobGraceMs = 2_000;
/** Number of calls that a replica may hold for each call that it works on at once. */
const heldPerCall = 2;

/**
 * Puts a tool on the mesh: its card and its calls. Any number of processes may serve the same tool; they
 * share the calls. The calls of a long-running tool are jobs in a queue: jobs outlive the process that works
 * on them, and the run of the calling agent.
 *
 * @throws MeshError `invalid_argument` for an unknown option, and for a tool with a `processLlmRequest` of its own
 */
export async function serveTool(
  mesh: Mesh,
  tool: BaseTool,
  options: ServeToolOptions = {},
): Promise<Started> {
  assertOptions(`serveTool ${tool.name}`, options, serveToolOptions);
  assertServable(tool);
  const {
    version = '0.0.0',
    maxConcurrency = 64,
    resultTtlMs = dayMs,
    jobSlots = 4,
    patienceMs = 5_000,
    leaseMs = defaultLeaseMs,
    ...services
  } = options;
  const { name, description, isLongRunning, answerWithinMs } = tool;
  const stopping = new AbortController();
  const subject = mesh.subjects.toolCall(name);
  const declaration = tool.getDeclaration();
  const card: CardInput = {
    kind: 'tool',
    name,
    description,
    version,
    declaration: { description, ...declaration, name },
    longRunning: isLongRunning,
    usesArtifacts: tool.usesArtifacts,
    usesCredentials: tool.credentialKeys.length > 0,
    ...(answerWithinMs !== undefined && { answerWithinMs }),
  };
  const isStored = await announceCard(mesh, card);
  const endLooks = restoreCard(mesh, card, { isStored });
  const cancellations = await listenForCancellations(mesh);
  const inHand = createWorkInHand();
  const takeWork = createTakeWork(mesh, name);
  const maxCalls = heldPerCall * maxConcurrency;
  const served: ServedTool = {
    mesh,
    tool,
    services: { ...meshServices(mesh), ...services },
    cancellations,
    patienceMs,
    leaseMs,
    inHand,
    takeWork,
    once: createOncePerCall({
      ...{ mesh, tool: name, resultTtlMs, leaseMs, maxCalls },
      ...{ cancellations, inHand, takeWork },
    }),
    stopping: stopping.signal,
  };
  // Comes before the first call: a replica that cannot be asked for counts as gone.
  const registration = await mesh.bus.register(
    { kind: 'tool', name: mesh.subjects.shownAs(name), version, description, holds: inHand.holds },
    isLongRunning ? [subject, mesh.subjects.toolJob(name)] : [subject],
  );
  const handingBack = new AbortController();
  const jobs = isLongRunning
    ? [
        await mesh.bus.consumeJobs(
          name,
          (item) => handleJob({ ...served, stopping: handingBack.signal }, item),
          { maxConcurrency: jobSlots },
        ),
      ]
    : [];
  const calls = await mesh.bus.serve(subject, (request) => handleCall(served, request), { maxConcurrency });
  mesh.log.info({ tool: name, maxConcurrency }, 'serving tool');
  return {
    async stop({ graceMs = 25_000 } = {}) {
      endLooks();
      const graceEnds = performance.now() + graceMs;
      await Promise.all([
        stopAll([registration, calls], graceMs, stopping),
        stopAll(jobs, Math.min(graceMs, jobGraceMs), handingBack),
      ]);
      await inHand.close(graceEnds - performance.now());
      await cancellations.stop();
    },
  };
}

/** Refuses a tool that would have to see the requests of the agents in other processes. */
function assertServable(tool: BaseTool): void {
  if (tool.processLlmRequest === BaseTool.prototype.processLlmRequest) return;
  throw new MeshError(
    'invalid_argument',
    `tool ${tool.name} has a processLlmRequest of its own, which no agent in another process calls: give the tool to its agent (tools: [...]), or serve a tool without it`,
  );
}

/** The data that the handlers of a tool need. */
interface ServedTool {
  mesh: Mesh;
  tool: BaseTool;
  services: InvocationServices;
  cancellations: Cancellations;
  patienceMs: number;
  leaseMs: number;
  inHand: WorkInHand;
  takeWork: TakeWork;
  once: OncePerCall;
  /** Aborted when the process stops and no longer waits for its work. */
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
    traceId: traceIdOf(request.headers),
  };
  const { app, session, invocationId } = context ?? {};
  const about = { app, session, invocationId, callId };
  const tally = createTally('call', tool.name, { ...about, headers: request.headers });
  return withOutcome(mesh.log, tally, ids, answerCall(served, request, call, tally));
}

/**
 * Answers one call: with the result that is kept for the call, or by doing the work. The work of a
 * long-running tool becomes a job.
 */
async function* answerCall(
  served: ServedTool,
  request: IncomingRequest,
  call: ToolCall,
  tally: Tally,
): AsyncGenerator<Frame, void, void> {
  const { mesh, tool, services } = served;
  using cancel = served.cancellations.signalOf(call.context?.invocationId ?? '', call.context);
  const requestSignal = AbortSignal.any([request.signal, served.stopping]);
  const signal = AbortSignal.any([requestSignal, cancel.signal]);
  const { callId, context } = call;
  const caller = await callerOf(mesh, call, request.headers);
  const isJob = tool.isLongRunning && callId !== undefined;
  if (!isJob || (await waitsForPerson(tool, call, services, signal, caller))) {
    yield* answerHere(served, call, requestSignal, { caller, carrier: tally.under(request.headers) });
    return;
  }
  yield* followJob(
    mesh,
    { ...call, callId },
    {
      tool: tool.name,
      headers: tally.under(request.headers),
      // A caller without an operation subject gets no updates, so it waits for the end.
      patienceMs: context?.operationSubject === undefined ? Number.POSITIVE_INFINITY : served.patienceMs,
      signal,
    },
  );
}

/** Carries the call out here, once. Its first request gets the progress; a repeat gets the result. */
async function* answerHere(
  { tool, services, once }: ServedTool,
  call: ToolCall,
  requestSignal: AbortSignal,
  about: CallFacts,
): AsyncGenerator<Frame, void, void> {
  const data = yield* asGenerator<Frame, ToolResult>((emit) => {
    // The work goes on without its reader: a repeat may take its result.
    const report = (progress: unknown) => void emit({ type: 'progress', data: progress }).catch(() => {});
    return once(call, requestSignal, (signal) =>
      reportAll(runTool(tool, call, services, signal, about), report),
    );
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
