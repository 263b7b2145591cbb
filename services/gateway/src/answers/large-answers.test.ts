import { createLogger } from '@agentmesh/service';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { answerError } from '../http/answer-error.ts';
import { HeldBytes } from './held-bytes.ts';
import { largeAnswers } from './large-answers.ts';

it('does not tell the client of a complete run to send its request again', async () => {
  const gate = Promise.withResolvers<string>();
  const large = largeAnswers({
    held: new HeldBytes({ most: 1_000_000, waitMs: 1_000, mostOfOne: 5, mostWaiting: 10 }),
    nameOf: () => 'ann',
    log: { warn() {} },
  });
  await using server = fastify();
  const log = createLogger({ service: 'gateway', replica: 'test', level: 'silent' });
  server.setErrorHandler((error, request, reply) => answerError(log, error, request, reply));
  server.get('/run', async (request, reply) => {
    reply.header('x-invocation-id', 'e-1');
    return await large.sendJson(request, reply, () => [() => gate.promise].values());
  });
  server.get('/events', async (request, reply) =>
    large.sendJson(request, reply, () => [() => gate.promise].values()),
  );
  // Two are read, and a hundred wait.
  const others = Array.from({ length: 102 }, () => server.inject('/run'));
  await Promise.race([...others, new Promise((resolve) => setImmediate(resolve))]);
  const refusals = await Promise.all(['/run', '/events'].map((path) => server.inject(path)));
  const busy = 'this gateway reads too many sessions at once';
  const seen = refusals.map((answer) => [
    answer.statusCode,
    answer.json().error,
    answer.headers['retry-after'],
  ]);
  expect(seen).toEqual([
    [429, `${busy}; the run is complete: read its events at …/invocations/e-1/events`, undefined],
    [429, `${busy}; try again soon, or read the events page by page`, '1'],
  ]);
  gate.resolve('[]');
  for (const answer of await Promise.all(others)) expect(answer.body).toBe('[]');
});
