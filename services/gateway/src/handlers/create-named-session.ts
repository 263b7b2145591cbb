import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { readSession } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const record = z.record(z.string(), z.unknown());
const wrapped = z.strictObject({ state: record.nullish() });

/** The body is `{ "state": … }`, or the state itself: ADK's servers differ, and both are understood. */
export const createNamedSession: Handler = async (context, request) => {
  const ref = await readSession(context, request);
  const body = request.body ?? {};
  const inner = wrapped.safeParse(body);
  const state = inner.success ? inner.data.state : parse(record, body, 'the body');
  return sessionJson(await context.mesh.sessions.createSession({ ...ref, ...(state && { state }) }));
};
