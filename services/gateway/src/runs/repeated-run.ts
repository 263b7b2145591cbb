import type { InvocationRef } from '@agentmesh/agent/internal';
import { type FollowedRun, followRun, type RunIds } from '@agentmesh/mesh';
import { digestOf, MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { anyCaller, callerOf, countedAs } from '../access/caller.ts';
import { forgetBody } from '../answers/body-room.ts';
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
  /** The ids of the run if the request came before and its run may have begun, as {@link follow} has found them last. */
  readonly known: RunIds | undefined;
  /**
   * Follows the run of an earlier request with this key, from its beginning. Returns undefined for a new request, for
   * one whose run was refused before it began, and when the run has not begun, so that it may be started again under
   * its ids.
   *
   * @throws MeshError `already_exists` for a key that came with another body
   */
  follow(signal: AbortSignal): Promise<AcceptedRun | undefined>;
  /**
   * Notes the ids right before the command of the run is published, so that no refusal leaves a note. Returns the ids of
   * the same request at another gateway that was faster.
   *
   * @param incarnation that of the session to which the command goes
   * @throws as `follow`; MeshError `not_found` when this is not the session in which `follow` looked
   */
  note(ids: RunIds, incarnation: string): Promise<RunIds>;
}

/** The note of a request. */
interface Note {
  body: string;
  ids: RunIds;
}

/**
 * Returns the key of a request to run; undefined for a request without a key. A key belongs to its caller and to the
 * session: in a session that was made again under the same id it is a new key.
 *
 * @throws MeshError `failed_precondition` without Redis
 */
export function readRepeatable(
  context: GatewayContext,
  request: FastifyRequest,
  session: SessionRef,
): RepeatableRun | undefined {
  const { mesh } = context;
  const given = { 'idempotency-key': request.headers['idempotency-key'] };
  const { 'idempotency-key': key } = parse(headers, given, 'the request header');
  if (key === undefined) return undefined;
  const { repeatedRequests } = mesh;
  if (!repeatedRequests)
    throw new MeshError('failed_precondition', 'this mesh has no Redis, which knows the keys of requests');
  const { appName, userId, sessionId } = session;
  const caller = callerOf(request).via === anyCaller.via ? '' : countedAs(request);
  const nameIn = (incarnation: string) =>
    JSON.stringify([caller, appName, userId, sessionId, incarnation, key]);
  let name: string | undefined;
  /** Returns the name of the note; undefined without the session, which may be made for this run. */
  const findName = async () => {
    const view = name === undefined ? await mesh.sessions.leases.look(session) : undefined;
    if (view) name = nameIn(view.incarnation);
    return name;
  };
  // A program that writes the message again may write its fields in another order.
  const body = digestOf([request.routeOptions.url, request.body]);
  const assertSame = (note: Note) => {
    if (note.body !== body)
      throw new MeshError(
        'already_exists',
        'this Idempotency-Key came with another request; choose a new key for each message',
      );
  };
  /** The note of a run that may have begun, and the text of one whose run was refused. */
  let known: Note | undefined;
  let refused: string | undefined;
  return {
    get known() {
      return known?.ids;
    },
    async follow(signal) {
      [known, refused] = [undefined, undefined];
      const found = await findName();
      const text = found === undefined ? undefined : await repeatedRequests.find(found);
      if (text === undefined) return undefined;
      const note = readNote(text);
      const followed = await followNoted(context, { ...session, ...note.ids }, signal);
      if (followed && neverBegan(followed)) {
        refused = text;
        return undefined;
      }
      assertSame(note);
      known = note;
      if (!followed) return undefined;
      idsOf(request).invocationId = note.ids.invocationId;
      forgetBody(request);
      const { numbered, end } = followed;
      return { ref: { ...session, ...note.ids }, numbered, end, isRepeated: true };
    },
    async note(ids, incarnation) {
      const now = nameIn(incarnation);
      name ??= now;
      // Another request would not find this run in the session that was made again, and would run once more.
      if (name !== now)
        throw new MeshError('not_found', `session ${sessionId} was deleted and made again meanwhile`);
      if (known) return known.ids;
      const text = await repeatedRequests.note(now, JSON.stringify({ body, ...ids }), refused);
      if (text === undefined) return ids;
      const note = readNote(text);
      assertSame(note);
      return note.ids;
    },
  };
}

function readNote(text: string): Note {
  const { body, invocationId, resume } = noteSchema.parse(JSON.parse(text));
  return { body, ids: { invocationId, ...(resume !== undefined && { resume }) } };
}

/** Follows the run of a note. Returns undefined when nothing is known of it. */
async function followNoted(
  { mesh }: GatewayContext,
  ref: InvocationRef,
  signal: AbortSignal,
): Promise<FollowedRun | undefined> {
  try {
    return await followRun(mesh, ref, { signal, outlineAbove });
  } catch (error) {
    if (MeshError.from(error).code === 'not_found') return undefined;
    throw error;
  }
}

/**
 * Tells whether the run of a note was refused by its agent or by its queue: it has ended, and nothing of it is in the
 * log. It never begins any more, so another run may take its key. A run that somebody cancelled stays cancelled.
 */
function neverBegan({ state: { status, lastSeq } }: FollowedRun): boolean {
  return status === 'failed' && lastSeq === 0;
}
