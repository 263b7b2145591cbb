import { createHash } from 'node:crypto';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { followRun, type RunIds } from '@agentmesh/mesh';
import { MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { anyCaller, callerOf, countedAs } from '../access/caller.ts';
import type { GatewayContext } from '../context/context.ts';
import { idsOf } from '../http/request-ids.ts';
import { outlineAbove, type StreamedRun } from './stream-run.ts';

const headers = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 visible characters of ASCII')
    .optional(),
});
const noteSchema = z.object({
  body: z.string(),
  invocationId: z.string(),
  resume: z.string().optional(),
});

/** A run that a client has asked for, or that it asks for again. */
export type AcceptedRun = Pick<StreamedRun, 'numbered' | 'end'> & {
  ref: InvocationRef;
  /** True for a run of an earlier request: pieces of events that came before are missing. */
  isRepeated: boolean;
};

/** A request to run with a key of the client (the header `Idempotency-Key`). */
export interface RepeatableRun {
  /** The ids of the run if the request came before. */
  readonly known: RunIds | undefined;
  /**
   * Follows the run of an earlier request with this key, from its beginning. Returns undefined for a new request, and
   * when the run has not begun, so that it may be started again under its ids.
   */
  follow(signal: AbortSignal): Promise<AcceptedRun | undefined>;
  /** Notes the ids before the run is started. Returns the ids of the same request at another gateway that was faster. */
  note(ids: RunIds): Promise<RunIds>;
}

/**
 * Returns the key of a request to run; undefined for a request without a key. A key belongs to its caller and to the
 * session: in a session that was made again under the same id it is a new key.
 *
 * @throws MeshError `already_exists` for a key that came with another body; `failed_precondition` without Redis
 */
export async function readRepeatable(
  { mesh }: GatewayContext,
  request: FastifyRequest,
  session: SessionRef,
): Promise<RepeatableRun | undefined> {
  const given = { 'idempotency-key': request.headers['idempotency-key'] };
  const { 'idempotency-key': key } = parse(headers, given, 'the request header');
  if (key === undefined) return undefined;
  const { repeatedRequests } = mesh;
  if (!repeatedRequests)
    throw new MeshError('failed_precondition', 'this mesh has no Redis, which knows the keys of requests');
  const { appName, userId, sessionId } = session;
  const caller = callerOf(request).via === anyCaller.via ? '' : countedAs(request);
  const nameNow = async () => {
    const view = await mesh.sessions.leases.look(session);
    return view && JSON.stringify([caller, appName, userId, sessionId, view.incarnation, key]);
  };
  const content = JSON.stringify([request.routeOptions.url, request.body]);
  const body = createHash('sha256').update(content).digest('hex');
  const idsIn = (note: string | undefined): RunIds | undefined => {
    if (note === undefined) return undefined;
    const { body: earlier, invocationId, resume } = noteSchema.parse(JSON.parse(note));
    if (earlier !== body)
      throw new MeshError(
        'already_exists',
        'this Idempotency-Key came with another request; choose a new key for each message',
      );
    return { invocationId, ...(resume !== undefined && { resume }) };
  };
  const nameBefore = await nameNow();
  const known = nameBefore === undefined ? undefined : idsIn(await repeatedRequests.find(nameBefore));
  return {
    known,
    async follow(signal) {
      if (!known) return undefined;
      const ref = { ...session, ...known };
      const ids = idsOf(request);
      ids.invocationId = known.invocationId;
      try {
        const { numbered, end } = await followRun(mesh, ref, { signal, outlineAbove });
        return { ref, numbered, end, isRepeated: true };
      } catch (error) {
        if (MeshError.from(error).code === 'not_found') return undefined;
        throw error;
      }
    },
    async note(ids) {
      if (known) return known;
      // The session may have been made for this run. Without one the run is refused.
      const name = nameBefore ?? (await nameNow());
      if (name === undefined) return ids;
      return idsIn(await repeatedRequests.note(name, JSON.stringify({ body, ...ids }))) ?? ids;
    },
  };
}
