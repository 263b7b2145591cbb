import { randomUUID } from 'node:crypto';
import { isBase64, isMimeType } from '@agentmesh/agent/internal';
import {
  auditRefusedMessage,
  newRunIds,
  type RunOptions,
  type RunRequest,
  type StartedRun,
  startRun,
} from '@agentmesh/mesh';
import {
  clientInputSchema,
  MeshError,
  messageSchema,
  runConfigSchema,
  whenBusySchema,
} from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, countedAs, personOf, vouchedCaller } from '../access/caller.ts';
import { assertMayStart } from '../access/may-start.ts';
import { recordRun } from '../access/record-request.ts';
import { forgetBody } from '../answers/body-room.ts';
import type { GatewayContext } from '../context/context.ts';
import type { HandlerContext } from '../context/route.ts';
import { idsOf, noteInvocation } from '../http/request-ids.ts';
import { readBody } from '../params/params.ts';
import { type AcceptedRun, type RepeatableRun, readRepeatable } from './repeated-run.ts';
import { outlineAbove } from './stream-run.ts';

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

export const runBody = z.strictObject({
  appName: z.string().min(1),
  userId: z.string().min(1),
  sessionId: z.string().min(1),
  newMessage: messageSchema,
  invocationId: z.string().min(1).nullish(),
  functionCallEventId: z
    .string()
    .nullish()
    .describe("ADK's web UI sends it with an answer; it is not read, because an answer names its call"),
  streaming: z.boolean().default(false),
  stateDelta: z.record(z.string(), z.unknown()).nullish(),
  client: clientInputSchema
    .nullish()
    .describe(
      'tools that the client runs itself, and facts about the situation, for the run; see the page about AG-UI',
    ),
  runConfig: runConfigSchema
    .pick({ saveInputBlobsAsArtifacts: true, pauseOnToolCalls: true, plainTextToolConfirmation: true })
    .extend({ maxLlmCalls })
    .strict()
    .prefault({}),
  whenBusy: whenBusySchema.default('enqueue'),
});

/** A run that a client has asked for. */
export type RequestedRun = z.output<typeof runBody>;

/**
 * Reads a run request and starts the run, or follows it if the request came before. When `signal` aborts, the watching
 * ends; the run itself goes on.
 */
export async function startRequestedRun(
  context: HandlerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { signal, streams }: { signal: AbortSignal; streams: boolean },
): Promise<AcceptedRun> {
  const requested = readBody(runBody, request);
  const { appName, userId, sessionId, newMessage: message, stateDelta, client } = requested;
  assertMayStart(request, { appName, userId, message, stateDelta, client });
  await context.limits?.admitTarget({ app: appName, user: userId }, 'run', reply);
  const repeatable = readRepeatable(context, request, { appName, userId, sessionId });
  const followed = await repeatable?.follow(signal);
  if (followed) return followed;
  try {
    return await startAllowedRun(context, request, requested, { signal, streams, repeatable });
  } catch (error) {
    // The run of the earlier request may have begun meanwhile, and its message counts as answered then.
    const begun = await repeatable?.follow(signal);
    if (begun) return begun;
    throw error;
  }
}

/** Checks a message of a person. @throws MeshError `invalid_argument` for a message that nobody may send */
function assertSendable({ parts, role, ...others }: RequestedRun['newMessage']): void {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new MeshError(
      'invalid_argument',
      `field "newMessage.${unknown}" is not known; a message has role and parts`,
    );
  // ADK would show a message of the role model as the model's own words, and a message of another role as the user's.
  if (role !== undefined && role !== 'user')
    throw new MeshError('invalid_argument', `newMessage has the role ${role}; people send the role user`);
  // Only agents call functions: a call in a person's message would be forged.
  if (parts?.some(({ functionCall }) => functionCall))
    throw new MeshError('invalid_argument', 'newMessage holds a function call; only agents make these');
  if (!parts?.length) throw new MeshError('invalid_argument', 'newMessage has no parts; say something');
  if (parts.some((part) => Object.keys(part).length === 0))
    throw new MeshError('invalid_argument', 'newMessage has an empty part; give each part text or data');
  for (const { inlineData } of parts)
    if (inlineData && !(isBase64(inlineData.data) && isMimeType(inlineData.mimeType ?? '')))
      throw new MeshError(
        'invalid_argument',
        'newMessage has inlineData that no model reads; give it data in base64, and a mimeType such as image/png',
      );
  if (parts.every((part) => part.text === '' && Object.keys(part).length === 1))
    throw new MeshError('invalid_argument', 'newMessage has no text; say something');
}

/**
 * Starts a run for the caller of a request. When `signal` aborts, the watching ends; the run itself goes on.
 *
 * @throws MeshError `permission_denied`; `invalid_argument` for a message that nobody may send; `resource_exhausted`
 * past a quota
 */
export async function startAllowedRun(
  context: GatewayContext,
  request: FastifyRequest,
  requested: RequestedRun,
  {
    signal,
    streams,
    repeatable,
  }: { signal: AbortSignal; streams: boolean; repeatable?: RepeatableRun | undefined },
): Promise<AcceptedRun> {
  const { mesh, config, admission } = context;
  const { appName, userId, sessionId, newMessage, invocationId, stateDelta, client } = requested;
  const session = { appName, userId, sessionId };
  const requestIds = idsOf(request);
  if (invocationId) noteInvocation(request, invocationId);
  assertMayStart(request, { appName, userId, message: newMessage, stateDelta, client });
  assertSendable(newMessage);
  const fresh = repeatable?.known ?? newRunIds(mesh, session, invocationId ?? undefined);
  // A run that was admitted before is not counted again.
  const admitted = repeatable?.known
    ? undefined
    : await admission?.admit(
        { ...session, ...fresh },
        { caller: countedAs(request), timeoutMs: config.runTimeoutMs },
      );
  let ids = fresh;
  const noteIds = async (incarnation: string) => {
    ids = (await repeatable?.note(fresh, incarnation)) ?? fresh;
    // The same request came to another gateway at the same time.
    if (ids !== fresh) void admitted?.drop();
    return ids;
  };
  const unused = new AbortController();
  const options = {
    ...{ headers: requestIds.trace, outlineAbove },
    ...(repeatable
      ? { ids: noteIds, signal: AbortSignal.any([signal, unused.signal]) }
      : { ids: fresh, signal }),
  };
  const timing = { timeoutMs: config.runTimeoutMs, whenAbsent: config.whenAbsent };
  const started = await giveCommand(context, request, requested, { streams, ...options, ...timing }).catch(
    (error: unknown) => {
      // A command whose acknowledgement is missing may be in its queue.
      if (!MeshError.from(error).retryable) void admitted?.drop();
      throw error;
    },
  );
  // The run may take long, and its message may be large.
  forgetBody(request);
  const isRepeated = ids !== fresh || repeatable?.known !== undefined;
  if (repeatable && isRepeated) {
    // The run of the earlier request may have begun before it was watched here.
    const begun = await repeatable.follow(signal).catch((error: unknown) => {
      unused.abort();
      throw error;
    });
    if (begun) unused.abort();
    if (begun) return begun;
  }
  recordRun(mesh, request, { ...session, invocationId: started.invocationId });
  requestIds.invocationId = started.invocationId;
  const end = started.end.finally(() => admitted?.count());
  end.catch(() => {});
  return { numbered: started.numbered, end, ref: { ...session, ...ids }, isRepeated };
}

/** Gives the message to the app. Keeps nothing of it. */
async function giveCommand(
  context: GatewayContext,
  request: FastifyRequest,
  requested: RequestedRun,
  { streams, ...options }: RunOptions & { streams: boolean },
): Promise<StartedRun> {
  const { mesh } = context;
  try {
    return await startRun(mesh, commandOf(context, request, requested, streams), options);
  } catch (error) {
    const { appName, userId, sessionId, newMessage: message } = requested;
    const { answeredBy } = senderOf(context, request, requested);
    const session = { appName, userId, sessionId };
    auditRefusedMessage(mesh, randomUUID(), { session, message, answeredBy }, error);
    throw error;
  }
}

function senderOf({ mesh }: GatewayContext, request: FastifyRequest, { appName, userId }: RequestedRun) {
  const sender = callerOf(request);
  const { name: by, roles } = personOf(sender, appName, userId);
  const caller = vouchedCaller(sender, appName);
  const answeredBy = { by, via: 'rest', service: mesh.bus.service, ...(roles && { roles }) };
  return { answeredBy, ...(caller && { caller }) };
}

function commandOf(
  context: GatewayContext,
  request: FastifyRequest,
  requested: RequestedRun,
  streams: boolean,
): RunRequest {
  const { appName, userId, sessionId, newMessage, invocationId, stateDelta, client } = requested;
  const { streaming, runConfig, whenBusy } = requested;
  return {
    ...{ app: appName, user: userId, session: sessionId, whenBusy },
    // Every message that comes to the gateway is the user's, also one without a role.
    message: { ...newMessage, role: 'user' },
    ...(invocationId && { invocationId }),
    ...(stateDelta && { stateDelta }),
    ...(client && { client }),
    runConfig: { ...runConfig, streamingMode: streams && streaming ? 'sse' : 'none' },
    ...senderOf(context, request, requested),
  };
}
