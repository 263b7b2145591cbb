import { expect, it } from 'vitest';
import { startStage } from './gateways/stage.ts';
import { storm } from './gateways/storm.ts';

// `node test/chaos/gateways/main.ts` does the same with 200 clients, and measures the limits.
it('clients miss and repeat no event while gateways behind a proxy are killed', async () => {
  await using stage = await startStage();
  const report = await storm({
    ...{ mesh: stage.mesh, app: 'stock_app', message: 'What is the price of GOOG?' },
    ...{ clients: 24, lengthMs: 12_000, killEveryMs: 3_000 },
    headersOf: (user) => ({ 'x-user': user }),
  });
  expect(report.wrong).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
  expect(report.returns).toBeGreaterThan(0);
  expect(report.runs).toBeGreaterThan(report.unanswered);
}, 120_000);
