import { importSession, type Session } from '@agentmesh/agent';
import { camelizeKeys, eventSchema, parse, withoutNulls } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';

const state = z.record(z.string(), z.unknown());
const events = z.preprocess(withoutNulls, z.array(eventSchema).max(100_000).nullish());
const body = z.strictObject({ state: state.nullish(), events });
const bodyWithId = body.extend({ sessionId: z.string().min(1).nullish() });

export interface NewSession extends z.output<typeof body> {
  sessionId?: string | null | undefined;
}

/** No event is from before 1973 in milliseconds: ADK for Python tells the time in seconds. */
const leastMs = 100_000_000_000;

/** Reads `{ sessionId?, state?, events? }`. */
export function readNewSession(given: unknown): NewSession {
  return parse(bodyWithId, camelizeKeys(given ?? {}), 'the body');
}

/** Reads `{ state?, events? }`, or the state itself: ADK's servers differ, and both are understood. */
export function readNewNamedSession(given: unknown): NewSession {
  const bare = state.safeParse(given ?? {});
  if (bare.success && !isWrapped(bare.data)) return { state: bare.data };
  return parse(body, camelizeKeys(given ?? {}), 'the body');
}

function isWrapped({ state: inner, events: list, ...others }: Record<string, unknown>): boolean {
  const isEvents = Array.isArray(list) && list.every((each) => typeof each === 'object' && each !== null);
  if (isEvents && list.length > 0) return true;
  if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) return true;
  return (
    Object.keys(others).length === 0 && (inner ?? null) === null && (isEvents || (list ?? null) === null)
  );
}

/** Makes a session, with events from elsewhere if there are any. */
export async function makeSession(
  { mesh: { sessions } }: GatewayContext,
  owner: { appName: string; userId: string },
  { sessionId, state: given, events: past }: NewSession,
): Promise<Session> {
  const wanted = { ...owner, ...(sessionId && { sessionId }), ...(given && { state: given }) };
  if (!past?.length) return await sessions.createSession(wanted);
  const inMs = past.map((event) =>
    event.timestamp < leastMs ? { ...event, timestamp: event.timestamp * 1_000 } : event,
  );
  return await importSession(sessions, { ...wanted, events: inMs });
}
