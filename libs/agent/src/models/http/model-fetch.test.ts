import { expect, it } from 'vitest';
import { modelFetch } from './model-fetch.ts';

const returning = (response: Response): typeof fetch => {
  return () => Promise.resolve(response);
};

/** Asks through the `fetch` for models, which gets this response. */
async function ask(response: Response, stream = false) {
  const url = stream ? 'http://model/x?alt=sse' : 'http://model/x';
  const answer = await modelFetch(returning(response))(url);
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

it('gives clients one form of errors, with the wait that a header names', async () => {
  const headers = { 'retry-after': '7' };
  const { status, type, text } = await ask(new Response('{"detail":"slow down"}', { status: 429, headers }));
  expect([status, type]).toEqual([429, 'application/json']);
  expect(JSON.parse(text)).toMatchObject({
    error: { message: 'slow down', code: 429, details: [{ retryDelay: '7s' }] },
  });
});

it.each([
  ['in ms', { 'retry-after-ms': '1500' }, '1.5s'],
  ['as a date in the past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, '0s'],
])('reads a wait %s', async (_how, headers, retryDelay) => {
  const { text } = await ask(new Response('{}', { status: 503, headers }));
  expect(JSON.parse(text).error.details).toEqual([expect.objectContaining({ retryDelay })]);
});

it('takes a redirection to nowhere for a broken server', async () => {
  expect(await ask(new Response(null, { status: 304 }))).toMatchObject({ status: 502 });
});

it('gives an error with status 200 the status that it names', async () => {
  const body = '{"error":{"message":"too many","code":429}}';
  expect(await ask(new Response(body))).toMatchObject({ status: 429 });
  expect(await ask(new Response(`data: ${body}\n\n`), true)).toMatchObject({ status: 429 });
  await expect(ask(new Response('{"error":"no such model"}'))).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('no such model'),
  });
});

it('keeps the headers of an answer, and corrects its type', async () => {
  const response = new Response('{"a":1}', { headers: { 'x-request-id': 'r' } });
  const answer = await modelFetch(returning(response))('http://m');
  expect([answer.headers.get('x-request-id'), answer.headers.get('content-type')]).toEqual([
    'r',
    'application/json',
  ]);
});
