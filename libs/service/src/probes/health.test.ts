import { expect, it } from 'vitest';
import { answerHealth, type HealthChecks } from './health.ts';

const well: HealthChecks = { ready: () => true, lagMs: () => 3, maxLagMs: 5_000 };

it('answers 200 on both paths when all is well', async () => {
  for (const path of ['/livez', '/readyz']) {
    expect(await answerHealth(path, well)).toEqual({ status: 200, body: { ok: true, reasons: [] } });
  }
});

it('says why it is not ready', async () => {
  const checks = { ...well, ready: async () => ['nats is not connected', 'stopping'] };
  expect(await answerHealth('/readyz', checks)).toEqual({
    status: 503,
    body: { ok: false, reasons: ['nats is not connected', 'stopping'] },
  });
  expect((await answerHealth('/livez', checks)).status).toBe(200);
});

it('is not live when the event loop stands still, and only then', async () => {
  const answer = await answerHealth('/livez', { ...well, lagMs: () => 6_000.4 });
  expect(answer).toEqual({
    status: 503,
    body: { ok: false, reasons: ['the event loop stood still for 6000 ms'] },
  });
});

it('reports a check that throws as failed, without its text', async () => {
  const checks = {
    ...well,
    ready: () => Promise.reject(new Error('redis://u:hunter2@host')),
    live: () => {
      throw new Error('x');
    },
  };
  for (const path of ['/livez', '/readyz']) {
    expect(await answerHealth(path, checks)).toEqual({
      status: 503,
      body: { ok: false, reasons: ['the check failed'] },
    });
  }
});

it('answers 404 elsewhere', async () => {
  expect((await answerHealth('/', well)).status).toBe(404);
});
