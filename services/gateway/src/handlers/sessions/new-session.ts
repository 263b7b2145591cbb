import { importSession, type Session } from '@agentmesh/agent';
import { camelizeKeys, eventSchema, parse, withoutNulls } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { assertCallerRole, assertMayWriteState } from '../../access/check-access.ts';
import { recordImport } from '../../access/record-request.ts';
import type { HandlerContext } from '../../context/route.ts';
import { assertSessionName } from '../../params/session-name.ts';

const state = z.record(z.string(), z.unknown());
/** The longest name of an author, in characters. */
const mostAuthor = 256;
const pastEvent = eventSchema
  .refine(({ author = 'user' }) => author.length <= mostAuthor && /^[^\p{C}\p{Z}]+$/u.test(author), {
    path: ['author'],
    error: 'must be user or the name of an agent',
  })
  .refine(({ invocationId }) => invocationId !== '', { path: ['invocationId'], error: 'must not be empty' })
  .refine(({ content }) => content?.role === undefined || ['user', 'model'].includes(content.role), {
    path: ['content', 'role'],
    error: 'must be user or model',
  })
  .refine(({ content }) => content?.parts?.every((part) => Object.keys(part).length > 0) !== false, {
    path: ['content', 'parts'],
    error: 'has an empty part; give each part text or data, or leave it out',
  })
  .refine(({ timestamp }) => timestamp >= 0, { path: ['timestamp'], error: 'must be a time from 1970 on' });
const events = z.preprocess(withoutNulls, z.array(pastEvent).max(100_000).nullish());
export const namedSessionBody = z.strictObject({ state: state.nullish(), events });
export const newSessionBody = namedSessionBody.extend({ sessionId: z.string().min(1).nullish() });

export interface NewSession extends z.output<typeof namedSessionBody> {
  sessionId?: string | null | undefined;
}

/**
 * Smallest timestamp in milliseconds, in 1973. A smaller number is in seconds, as ADK for Python writes it.
 */
const leastMs = 100_000_000_000;

/** Reads `{ sessionId?, state?, events? }`. */
export function readNewSession(input: unknown): NewSession {
  return parse(newSessionBody, camelizeKeys(input ?? {}, 'the body'), 'the body');
}

/**
 * Reads `{ state?, events? }`, or the state itself: ADK's servers differ, and both forms are read. A state that has a
 * key of the first form is read in the first form only, so that no misspelt history is taken for a state.
 */
export function readNewNamedSession(input: unknown): NewSession {
  const bare = state.safeParse(input ?? {});
  if (bare.success && !isWrapped(bare.data)) return { state: bare.data };
  return parse(namedSessionBody, camelizeKeys(input ?? {}, 'the body'), wrappedBody);
}

const wrappedBody = 'the body { state?, events? } (a state with one of these keys goes into state)';
const wrappedKeys = ['state', 'events', 'sessionId', 'session_id'];

function isWrapped(body: Record<string, unknown>): boolean {
  return Object.keys(body).length === 0 || wrappedKeys.some((key) => key in body);
}

/**
 * Makes a session, with imported events if there are any.
 *
 * @throws MeshError `permission_denied` for events and for `app:` state of a caller who is no operator
 */
export async function makeSession(
  { mesh, large }: HandlerContext,
  http: FastifyRequest,
  owner: { appName: string; userId: string },
  { sessionId, state: initialState, events: pastEvents }: NewSession,
): Promise<Session> {
  const { sessions } = mesh;
  if (sessionId) assertSessionName(sessionId);
  assertMayWriteState(http, owner.appName, initialState);
  if (pastEvents?.length) assertCallerRole(http, owner.appName, 'operator', 'to import events');
  const request = { ...owner, ...(sessionId && { sessionId }), ...(initialState && { state: initialState }) };
  if (!pastEvents?.length) return await sessions.createSession(request);
  const inMs = pastEvents.map((event) =>
    event.timestamp < leastMs ? { ...event, timestamp: event.timestamp * 1_000 } : event,
  );
  const session = await large.readWhole(http, () => importSession(sessions, { ...request, events: inMs }));
  recordImport(mesh, http, { ...owner, sessionId: session.id });
  return session;
}
