import { metrics } from '@opentelemetry/api';
import parsePrometheus from 'parse-prometheus-text-format';
import { expect, it } from 'vitest';
import { startHealth } from './health.ts';
import { startMetrics } from './metrics.ts';

it('shows recorded metrics in the format of Prometheus beside the health, with those of the process', async () => {
  await using shown = await startMetrics({ service: 'agent_a', replica: 'agent_a-1' });
  await using health = await startHealth({ port: 0, host: '127.0.0.1', ready: () => true, metrics: shown });
  metrics.getMeter('test').createCounter('bread.eaten', { unit: '{slice}' }).add(3, { kind: 'rye "dark"' });
  const address = `http://127.0.0.1:${health.port}`;
  const response = await fetch(`${address}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  const families = parsePrometheus(await response.text());
  const family = (name: string) => families.find((each) => each.name === name);
  expect(family('bread_eaten_total')).toMatchObject({
    type: 'COUNTER',
    metrics: [{ value: '3', labels: { kind: 'rye "dark"' } }],
  });
  expect(Number(family('process_memory_usage')?.metrics[0]?.value)).toBeGreaterThan(10_000_000);
  expect(family('nodejs_eventloop_delay_p99')).toBeDefined();
  const clock = Number(family('process_clock_time')?.metrics[0]?.value);
  expect(Math.abs(Date.now() / 1_000 - clock)).toBeLessThan(60);
  expect(family('target_info')?.metrics[0]?.labels).toMatchObject({
    service_name: 'agent_a',
    service_instance_id: 'agent_a-1',
  });
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
});

it('shows nothing when they are off', async () => {
  await using health = await startHealth({ port: 0, host: '127.0.0.1', ready: () => true });
  expect((await fetch(`http://127.0.0.1:${health.port}/metrics`)).status).toBe(404);
});
