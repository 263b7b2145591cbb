import type { InvocationRef } from '@agentmesh/agent/internal';
import { appNames, readInvocation } from '@agentmesh/mesh';
import { type Event, isToken, MeshError, meshTime, parse, type SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, hasRole } from '../../access/caller.ts';
import { assertCallerRole } from '../../access/check-access.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { invocationAnswer } from '../../contract/answers.ts';
import { noteInvocation } from '../../http/request-ids.ts';
import { readQuery } from '../../params/params.ts';
import { type Bar, barsOf, callOfBar, hasOpenCalls, type Part, replicasOf, tokensIn } from './waterfall.ts';

const text = z.string().min(1).optional();
export const meshInvocationQuery = { app: text, user: text, session: text };
const params = z.object({ invocation: z.string().min(1) });

const tokens = z.looseObject({ input: z.number().int(), output: z.number().int() });
const time = z.number().describe('in ms since 1970');
const bar = z.looseObject({
  id: z.string(),
  parent: z.string().optional(),
  kind: z.enum(['invocation', 'agent', 'model', 'tool', 'wait', 'queue', 'attempt', 'takeover']),
  name: z.string(),
  from: time,
  to: time.optional().describe('absent while it goes on'),
  replicas: z.array(z.string()).describe('more than one after a takeover'),
  tokens: tokens.optional(),
  error: z.string().optional(),
  asks: z.string().optional().describe('the words of a question to a person'),
  input: z.string().optional(),
  output: z.string().optional(),
});
export const meshInvocationAnswer = invocationAnswer.extend({
  ...{ app: z.string(), user: z.string(), session: z.string() },
  tokens: tokens.optional(),
  bars: z.array(bar),
  isCut: z.boolean().describe('true if there are more events than are shown'),
});

/** The largest number of events that are read of each session, and of child sessions that are read. */
const pageSizes = [200, 1_000];
const mostChildren = 50;
/** The most characters of later events, in which the answers of calls are looked for. */
const maxChars = 4_000_000;
const mostDepth = 4;

/** Answers with an invocation as a waterfall, made from the logs of its session and of its child sessions. */
export const getMeshInvocation: Handler = async (context, request) => {
  const ref = await findInvocation(context, request);
  return await context.large.readWhole(request, () => waterfallOf(context, ref));
};

async function waterfallOf(context: GatewayContext, ref: InvocationRef) {
  const state = await readInvocation(context.mesh, ref);
  const isOpen = state.status === 'running' || state.status === 'waiting';
  const { events, isCut } = await eventsOf(context, ref, state.lastSeq);
  const reading: Reading = { context, children: 0, events: [...events], isOpen };
  const root = ref.invocationId;
  const later = hasOpenCalls(events) ? await eventsAfter(context, ref, state.lastSeq) : [];
  const inner = await readBars(reading, ref, { parent: root, events, later }, 0);
  const starts = inner.map(({ from }) => from);
  const times = [...inner.map(({ to }) => to ?? 0), ...events.map(({ timestamp }) => timestamp)];
  const tokensOfAll = tokensIn(reading.events);
  const invocation: Bar = {
    ...{ id: root, kind: 'invocation', name: 'invocation', replicas: replicasOf(events) },
    from: Math.min(events[0]?.timestamp ?? meshTime(), ...starts),
    ...(!isOpen && times.length > 0 && { to: Math.max(...times) }),
    ...(tokensOfAll && { tokens: tokensOfAll }),
    ...(state.error && { error: `${state.error.code}: ${state.error.message}` }),
  };
  const { appName: app, userId: user, sessionId: session } = ref;
  return {
    ...{ ...state, app, user, session },
    ...(tokensOfAll && { tokens: tokensOfAll }),
    bars: [invocation, ...inner],
    isCut,
  };
}

/** Finds an invocation by its id alone among the recent ones, or by the session of the query. */
async function findInvocation({ mesh }: GatewayContext, request: FastifyRequest): Promise<InvocationRef> {
  const { invocation: invocationId } = parse(params, request.params, 'the path');
  const { app, user, session } = readQuery(meshInvocationQuery, request);
  noteInvocation(request, invocationId);
  if (app !== undefined) assertCallerRole(request, app, 'operator', 'to see an invocation of any user');
  if (app !== undefined && user !== undefined && session !== undefined)
    return { appName: app, userId: user, sessionId: session, invocationId };
  const apps = app === undefined ? appNames(mesh) : [app];
  const allowed = apps.filter((each) => hasRole(callerOf(request), each, 'operator'));
  const found = isToken(invocationId)
    ? await Promise.all(allowed.map((each) => mesh.sessions.overview.findRun(each, invocationId)))
    : [];
  const run = found.find((each) => each !== undefined);
  if (run) return { appName: run.appName, userId: run.userId, sessionId: run.sessionId, invocationId };
  throw new MeshError(
    'not_found',
    `invocation ${invocationId} is not among the newest 1,000 of your apps; name its session: ?app=…&user=…&session=…`,
  );
}

interface Reading {
  context: GatewayContext;
  /** The number of child sessions that were read. */
  children: number;
  /** All events so far. */
  events: Event[];
  isOpen: boolean;
}

/** Returns the bars of a session's events, with those of the child sessions of its calls. */
async function readBars(
  reading: Reading,
  ref: InvocationRef,
  part: Omit<Part, 'isOpen'>,
  depth: number,
): Promise<Bar[]> {
  const bars = barsOf({ ...part, isOpen: reading.isOpen });
  if (depth === mostDepth) return bars;
  const all: Bar[] = [];
  for (const each of bars) {
    all.push(each);
    const call = each.kind === 'tool' ? callOfBar(each) : undefined;
    if (call === undefined || !isToken(call) || reading.children >= mostChildren) continue;
    reading.children += 1;
    const child = { ...ref, sessionId: call };
    const inner = (await eventsOf(reading.context, child)).events;
    reading.events.push(...inner);
    all.push(...(await readBars(reading, child, { parent: each.id, events: inner }, depth + 1)));
  }
  return all;
}

/** Reads the events of an invocation in a session, up to its last event. A session that is absent has none. */
async function eventsOf(
  { mesh }: GatewayContext,
  ref: InvocationRef,
  lastSeq?: number,
): Promise<{ events: Event[]; isCut: boolean }> {
  const { invocationId, resume: _resume, ...session } = ref;
  const seq = lastSeq ?? (await lastSeqOf(mesh, session));
  let read: { events: Event[]; isCut: boolean } = { events: [], isCut: false };
  for (const limit of pageSizes) {
    const afterSeq = Math.max(0, seq - limit);
    const page = seq === 0 ? [] : await mesh.sessions.log.readEvents({ ...session, afterSeq, limit });
    const events = page.filter(({ event }) => event.invocationId === invocationId).map(({ event }) => event);
    const isCut = afterSeq > 0 && !events.some(begins);
    read = { events, isCut };
    if (!isCut) break;
  }
  return read;
}

/** Reads the next events of the session after an invocation. */
async function eventsAfter(
  { mesh }: GatewayContext,
  { appName, userId, sessionId }: InvocationRef,
  afterSeq: number,
): Promise<Event[]> {
  const [, limit = 0] = pageSizes;
  const page = await mesh.sessions.log.readEvents({ appName, userId, sessionId, afterSeq, limit, maxChars });
  return page.map(({ event }) => event);
}

/** Tells whether an event is the message with which an invocation begins, and no answer that continues it. */
function begins({ author, content }: Event): boolean {
  return author === 'user' && (content?.parts ?? []).some(({ functionResponse }) => !functionResponse);
}

async function lastSeqOf({ sessions }: GatewayContext['mesh'], ref: SessionRef): Promise<number> {
  return (await sessions.leases.look(ref))?.seq ?? 0;
}
