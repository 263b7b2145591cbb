import { MeshError } from '@agentmesh/protocol';
import fastify from 'fastify';
import { expect, it } from 'vitest';
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
  server.setErrorHandler((error, _request, reply) => {
    const { code, message, details } = MeshError.from(error);
    return reply.status(429).send({ code, message, details });
  });
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
  expect(refusals.map((answer) => answer.json())).toEqual([
    {
      code: 'resource_exhausted',
      message:
        'this gateway reads too many sessions at once; the run is complete: read its events at …/invocations/e-1/events',
    },
    {
      code: 'resource_exhausted',
      message: 'this gateway reads too many sessions at once; try again in 1 s',
      details: { retryAfterMs: 1_000 },
    },
  ]);
  gate.resolve('[]');
  for (const answer of await Promise.all(others)) expect(answer.body).toBe('[]');
});
