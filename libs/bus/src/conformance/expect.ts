import type { ErrorCode } from '@agentmesh/protocol';
import { expect } from 'vitest';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import type { ReceivedFrame, RequestHandler } from '../bus/bus.ts';

export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const item of items) gathered.push(item);
  return gathered;
}

/** Returns the result of a request, without the other frames. */
export async function resultOf(frames: AsyncIterable<ReceivedFrame>): Promise<unknown> {
  const last = (await gather(frames)).at(-1);
  return last?.type === 'result' ? last.data : undefined;
}

export async function expectCode(
  promise: Promise<unknown>,
  code: ErrorCode,
  message: RegExp = /./,
): Promise<void> {
  await expect(promise).rejects.toMatchObject({
    name: 'MeshError',
    code,
    message: expect.stringMatching(message),
  });
}

/** Answers with the payload of the request. */
export const echo: RequestHandler = async function* (request) {
  yield { type: 'result', data: request.json() };
};

/** Makes a handler that never ends, with promises for its start and its signal. */
export function hanging(): { handler: RequestHandler; started: Promise<void>; signal: Promise<AbortSignal> } {
  const started = Promise.withResolvers<AbortSignal>();
  const handler: RequestHandler = async function* (request) {
    started.resolve(request.signal);
    yield { type: 'event', data: 'started' };
    await new Promise(() => {});
  };
  return { handler, started: started.promise.then(() => {}), signal: started.promise };
}

/** Sends a request as a plain client does, on a new inbox. Returns an array that receives all replies. */
export async function ask(
  link: BrokerLink,
  subject: string,
  text: string,
  headers: Record<string, string> = {},
): Promise<Packet[]> {
  const replies: Packet[] = [];
  const reply = `${link.inbox}.${crypto.randomUUID()}`;
  await link.listen(reply, (packet) => replies.push(packet));
  link.send({ subject, headers, bytes: new TextEncoder().encode(text), reply });
  return replies;
}

export function textOf(packet: Packet | undefined): string {
  return new TextDecoder().decode(packet?.bytes);
}
