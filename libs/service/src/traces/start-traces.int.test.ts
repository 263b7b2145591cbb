import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';

interface Report {
  warnings: string[];
  stopMs: number;
  isLoaded: boolean;
}

/** The bodies of the requests to the receiver. */
const bodies: string[] = [];
const receiver = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  bodies.push(`${request.url} ${body}`);
  response.setHeader('content-type', 'application/json').end('{}');
});

async function listen(): Promise<string> {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
}

afterEach(async () => {
  bodies.length = 0;
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

async function work(traces: 'off' | 'otlp', endpoint: string): Promise<Report> {
  const file = fileURLToPath(new URL('./traces-child.fixture.ts', import.meta.url));
  const env = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    NO_PROXY: '127.0.0.1',
  };
  const { stdout } = await promisify(execFile)(process.execPath, [file, traces], { env });
  return JSON.parse(stdout);
}

describe('the traces of a process', () => {
  it('are sent to the receiver, the last spans at the stop', async () => {
    const report = await work('otlp', await listen());
    expect(report).toMatchObject({ warnings: [], isLoaded: true });
    const texts = bodies.filter((body) => body.startsWith('/v1/traces '));
    expect(texts.join('\n').match(/"name":"work"/g)).toHaveLength(3);
    expect(texts.at(-1)).toContain('"name":"last work"');
    for (const text of ['"child"', '"child-1"', '"1.2.3"']) expect(texts[0]).toContain(text);
  });

  it('are off by default: nothing is loaded and nothing is sent', async () => {
    expect(await work('off', await listen())).toMatchObject({ warnings: [], isLoaded: false });
    expect(bodies).toEqual([]);
  });

  it('cost one warning and half a second of the stop when the receiver is away', async () => {
    const endpoint = await listen();
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
    const { warnings, stopMs } = await work('otlp', endpoint);
    expect(warnings).toEqual([
      'spans cannot be sent: they are lost; check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver',
    ]);
    expect(stopMs).toBeLessThan(2_000);
  });
});
