import type { StoredDeadLetter } from '@agentmesh/bus';
import { replayDeadLetter } from '@agentmesh/mesh';
import { MeshError, parse } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, hasRole } from '../../access/caller.ts';
import { assertRole } from '../../access/check-access.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { pageSize, readQuery, wholeNumber } from '../../params/params.ts';
import { observerOf } from './observe.ts';

export const deadLettersQuery = { after: wholeNumber.default(0), limit: pageSize.default(50) };

const summary = {
  seq: z.number().int(),
  writer: z
    .object({ kind: z.enum(['agent', 'tool', 'operator']), name: z.string() })
    .describe('the service that wrote the letter, as NATS knows it'),
  isForeign: z
    .boolean()
    .describe('true when the message is of no queue of the writer: perhaps forged, and not replayed'),
  subject: z.string(),
  time: z.number().describe('in ms since 1970'),
  error: z.looseObject({ code: z.string(), message: z.string() }),
  attempts: z.number().int(),
  replica: z.string(),
  app: z.string().optional(),
  user: z.string().optional(),
  session: z.string().optional(),
  invocationId: z.string().optional(),
};
export const deadLetterAnswer = z.looseObject({
  ...summary,
  payload: z.unknown(),
  headers: z.record(z.string(), z.string()),
});
export const deadLettersAnswer = z.looseObject({
  deadLetters: z.array(z.looseObject(summary)),
  next: z.number().int().optional().describe('`after` of the next page; absent on the last page'),
});
export const replayAnswer = z.looseObject({ invocationId: z.string(), agent: z.string() });

/** NATS counts from 1. */
const params = z.object({ seq: wholeNumber.pipe(z.number().min(1, 'must be 1 or more')) });
const named = z
  .object({ app: z.string(), user: z.string(), session: z.string(), invocationId: z.string() })
  .partial()
  .catch({});

/** Answers with the dead letters, oldest first. Letters of other apps than the caller's are left out. */
export const listDeadLetters: Handler = async (context, request) => {
  const { after, limit } = readQuery(deadLettersQuery, request);
  const { deadLetters } = await observerOf(context);
  const found = await deadLetters.list({ afterSeq: after, limit });
  const last = found.at(-1);
  return {
    deadLetters: found.filter((each) => maySee(request, each)).map(summaryOf),
    ...(last && found.length === limit && { next: last.seq }),
  };
};

/** Answers with a dead letter, its message and its headers included. */
export const getDeadLetter: Handler = async (context, request) => {
  const { stored } = await readLetter(context, request);
  const { payload, headers } = stored.letter;
  return { ...summaryOf(stored), payload, headers };
};

/** Starts the run of a dead letter again, as a new invocation, and removes the letter. */
export const replay: Handler = async (context, request) => {
  const { stored, deadLetters } = await readLetter(context, request);
  // The run goes on by itself: nobody here waits for its events.
  const watch = new AbortController();
  const started = await replayDeadLetter(context.mesh, stored, { signal: watch.signal });
  started.end.catch(() => {});
  watch.abort();
  await deadLetters.remove(stored.seq);
  const { invocationId, agent } = started;
  return { invocationId, agent };
};

/** Removes a dead letter. */
export const removeDeadLetter: Handler = async (context, request) => {
  const { stored, deadLetters } = await readLetter(context, request);
  await deadLetters.remove(stored.seq);
  return { removed: stored.seq };
};

async function readLetter(context: GatewayContext, request: FastifyRequest) {
  const { seq } = parse(params, request.params, 'the path');
  const { deadLetters } = await observerOf(context);
  const stored = await deadLetters.get(seq);
  const { app } = named.parse(stored.letter.payload);
  if (app === undefined && !maySee(request, stored)) {
    throw new MeshError(
      'permission_denied',
      `dead letter ${seq} names no app; only an operator of all apps may use it`,
    );
  }
  if (app !== undefined) assertRole(callerOf(request), app, 'operator', 'to use this dead letter');
  return { stored, deadLetters };
}

/** A letter that names no app, such as one that cannot be read, is for operators of all apps. */
function maySee(request: FastifyRequest, { letter }: StoredDeadLetter): boolean {
  return hasRole(callerOf(request), named.parse(letter.payload).app ?? '*', 'operator');
}

function summaryOf({ seq, writer, isForeign, letter }: StoredDeadLetter) {
  const { subject, time, error, attempts, replica, payload } = letter;
  return { ...{ seq, writer, isForeign, subject, time, error, attempts, replica }, ...named.parse(payload) };
}
