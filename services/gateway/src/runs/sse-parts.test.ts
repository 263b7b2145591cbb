import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { openSse } from '../http/sse-stream.ts';

/** Opens a stream whose client reads nothing until the test does. */
function openStream() {
  const raw = new PassThrough({ highWaterMark: 1 });
  raw.on('error', () => {});
  const ending = new AbortController();
  const response = Object.assign(raw, { writeHead: () => response, flushHeaders: () => {} });
  const sse = openSse(response as unknown as ServerResponse, {
    ...{ headers: {}, unreadMs: 10_000, idPlace: 'before', stopping: new AbortController().signal },
    signal: ending.signal,
  });
  return { raw, sse, ending };
}

const large = Buffer.from(`data: ${JSON.stringify('x'.repeat(300_000))}\n\n`);

it('a frame that is sent in parts is whole', async () => {
  const { raw, sse } = openStream();
  const texts: string[] = [];
  raw.on('data', (bytes) => texts.push(String(bytes)));
  await sse.sendBytes(large);
  sse.close({ data: 'last' });
  await new Promise((resolve) => raw.once('end', resolve));
  expect(texts.join('') === `${large}data: "last"\n\n`).toBe(true);
});

it('no frame follows a part of another: the connection ends', async () => {
  const { raw, sse, ending } = openStream();
  const sending = sse.sendBytes(large);
  ending.abort();
  await sending;
  sse.close({ data: 'last' });
  expect(raw.destroyed).toBe(true);
});
