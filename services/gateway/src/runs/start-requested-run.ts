import { randomUUID } from 'node:crypto';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { auditRefusedMessage, newRunIds, type StartedRun, startRun } from '@agentmesh/mesh';
import { MeshError, messageSchema, runConfigSchema, whenBusySchema } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, countedAs, personOf, vouchedCaller } from '../access/caller.ts';
import { assertMayStart } from '../access/may-start.ts';
import { recordRun } from '../access/record-request.ts';
import type { GatewayContext } from '../context/context.ts';
import { idsOf, noteInvocation } from '../http/request-ids.ts';
import { readBody } from '../params/params.ts';

/** Greatest number of model calls of one run: the default of runs without a limit. */
const { maxLlmCalls: mostLlmCalls } = runConfigSchema.parse({});

/** A client may lower the limit of the mesh, not raise it: ADK's 0 for no limit is refused too. */
const callsAllowed = `may be 1 to ${mostLlmCalls}`;
const maxLlmCalls = z
  .number(callsAllowed)
  .int(callsAllowed)
  .min(1, callsAllowed)
  .max(mostLlmCalls, callsAllowed)
  .default(mostLlmCalls);

export const runBody = z.object({
  appName: z.string().min(1),
  userId: z.string().min(1),
  sessionId: z.string().min(1),
  newMessage: messageSchema,
  invocationId: z.string().min(1).nullish(),
  streaming: z.boolean().default(false),
  stateDelta: z.record(z.string(), z.unknown()).nullish(),
  runConfig: runConfigSchema
    .pick({ saveInputBlobsAsArtifacts: true, pauseOnToolCalls: true, plainTextToolConfirmation: true })
    .extend({ maxLlmCalls })
    .prefault({}),
  whenBusy: whenBusySchema.default('enqueue'),
});

/** A run that a client has asked for. */
export type RequestedRun = z.output<typeof runBody>;

/**
 * Reads a run request and starts the run. When `signal` aborts, the watching ends; the run itself goes on.
 */
export async function startRequestedRun(
  context: GatewayContext,
  request: FastifyRequest,
  signal: AbortSignal,
  streams: boolean,
): Promise<StartedRun & { ref: InvocationRef }> {
  return await startAllowedRun(context, request, readBody(runBody, request), signal, streams);
}

/**
 * Starts a run for the caller of a request. When `signal` aborts, the watching ends; the run itself goes on.
 *
 * @throws MeshError `permission_denied`; `invalid_argument` for a message that nobody may send
 */
export async function startAllowedRun(
  { mesh, config, admission }: GatewayContext,
  request: FastifyRequest,
  { appName, userId, sessionId, ...run }: RequestedRun,
  signal: AbortSignal,
  streams: boolean,
): Promise<StartedRun & { ref: InvocationRef }> {
  const { newMessage, invocationId, stateDelta, streaming, runConfig, whenBusy } = run;
  const ids = idsOf(request);
  if (invocationId) noteInvocation(request, invocationId);
  assertMayStart(request, { appName, userId, message: newMessage, stateDelta });
  // Only agents call functions: a call in a person's message would be forged.
  if (newMessage.parts?.some(({ functionCall }) => functionCall)) {
    throw new MeshError('invalid_argument', 'newMessage holds a function call; only agents make these');
  }
  if (!newMessage.parts?.length)
    throw new MeshError('invalid_argument', 'newMessage has no parts; say something');
  if (newMessage.parts.some((part) => Object.keys(part).length === 0)) {
    throw new MeshError('invalid_argument', 'newMessage has an empty part; give each part text or data');
  }
  const sender = callerOf(request);
  const caller = vouchedCaller(sender, appName);
  const { name: by, roles } = personOf(sender, appName, userId);
  const answeredBy = { by, via: 'rest', service: mesh.bus.service, ...(roles && { roles }) };
  const runIds = newRunIds(mesh, invocationId ?? undefined);
  const admitted = await admission?.admit(
    { appName, userId, sessionId, ...runIds },
    { caller: countedAs(request), timeoutMs: config.runTimeoutMs },
  );
  const started = await startRun(
    mesh,
    {
      app: appName,
      user: userId,
      session: sessionId,
      // Every message that comes to the gateway is the user's, whatever role it has.
      message: { ...newMessage, role: 'user' },
      ...(invocationId && { invocationId }),
      ...(stateDelta && { stateDelta }),
      runConfig: { ...runConfig, streamingMode: streams && streaming ? 'sse' : 'none' },
      whenBusy,
      answeredBy,
      ...(caller && { caller }),
    },
    {
      headers: ids.trace,
      timeoutMs: config.runTimeoutMs,
      whenAbsent: config.whenAbsent,
      signal,
      ids: runIds,
    },
  ).catch((error: unknown) => {
    const refused = { session: { appName, userId, sessionId }, message: newMessage, answeredBy };
    auditRefusedMessage(mesh, randomUUID(), refused, error);
    // A command whose acknowledgement is missing may be in its queue.
    if (!MeshError.from(error).retryable) void admitted?.drop();
    throw error;
  });
  const { resume } = started;
  recordRun(mesh, request, { appName, userId, sessionId, invocationId: started.invocationId });
  ids.invocationId = started.invocationId;
  const end = started.end.finally(() => admitted?.count());
  end.catch(() => {});
  return { ...started, end, ref: { appName, userId, sessionId, invocationId: started.invocationId, resume } };
}
