import type { Readable } from 'node:stream';
import type { InvocationRef } from '@agentmesh/agent/internal';
import type { AddressedCall, NumberedEvent } from '@agentmesh/mesh';
import { MeshError, type SessionRef } from '@agentmesh/protocol';
import { app } from '../../chaos/agents.ts';
import { pathOf, pathOfUser } from '../../chaos/clients/gateway-door.ts';
import { type Frame, framesIn } from '../../sse-client.ts';
import type { GatewayServer } from '../stage/start-gateway.ts';
import type { Entry, Run } from './entry.ts';

type Method = 'GET' | 'POST' | 'DELETE';
type Answer = Awaited<ReturnType<typeof send>>;

/** Returns the requests as those of HTTP, to the server of a gateway. */
export function httpEntry(server: GatewayServer): Entry {
  const ask = async (method: Method, url: string, body?: object) =>
    await readJson(await send(server, { method, url, body }));
  const invocation = ({ invocationId, ...ref }: InvocationRef) =>
    `${pathOf(ref)}/invocations/${invocationId}`;
  const stream = async (session: SessionRef, request: Request, after: number) => {
    const answer = await send(server, request);
    if (answer.statusCode >= 400) await readJson(answer);
    const { 'x-invocation-id': invocationId = '', 'x-resume-id': resume } = answer.headers as Record<
      string,
      string
    >;
    const ids = { invocationId, ...(resume !== undefined && { resume }) };
    const status = () => ask('GET', `${invocation({ ...session, ...ids })}${query({ resume })}`);
    return { ...ids, ...readRun(answer, after, status) };
  };
  return {
    async createSession({ userId }) {
      const { id } = await ask('POST', `${pathOfUser(app, userId)}/sessions`, {});
      return { appName: app, userId, sessionId: String(id) };
    },
    remakeSession: (ref) => ask('POST', pathOf(ref), {}),
    deleteSession: (ref) => ask('DELETE', pathOf(ref)),
    deleteUser: async (userId) => (await ask('DELETE', pathOfUser(app, userId))).complete === true,
    fork: async (ref) => String((await ask('POST', `${pathOf(ref)}/fork`, {})).id),
    rewind: (ref, rewindBeforeInvocationId) =>
      ask('POST', `${pathOf(ref)}/rewind`, { rewindBeforeInvocationId }),
    start({ session, whenBusy, stateDelta, client }, content, signal) {
      const newMessage = typeof content === 'string' ? { role: 'user', parts: [{ text: content }] } : content;
      const more = { ...(stateDelta && { stateDelta }), ...(client && { client }) };
      const body = { ...session, whenBusy, streaming: true, newMessage, ...more };
      return stream(session, { method: 'POST', url: '/run_sse', body, signal }, 0);
    },
    follow(ref, after, signal) {
      const url = `${invocation(ref)}/events${query({ resume: ref.resume, after })}`;
      return stream(ref, { method: 'GET', url, signal }, after);
    },
    cancel: (ref) => ask('POST', `${invocation(ref)}/cancel`, {}),
    pending: async (ref) => (await ask('GET', `${pathOf(ref)}/pending`)).pending as AddressedCall[],
    save: (ref, filename, text) => ask('POST', `${pathOf(ref)}/artifacts`, { filename, artifact: { text } }),
  };
}

/** Returns the query of an address, without the values that are absent. */
function query(values: { resume?: string | undefined; after?: number | undefined }): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${value}`,
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

interface Request {
  method: Method;
  url: string;
  body?: object | undefined;
  /** Aborts when the client leaves. */
  signal?: AbortSignal;
}

async function send(server: GatewayServer, { method, url, body, signal }: Request) {
  const answer = await server.inject({
    ...{ method, url, payloadAsStream: true, headers: { host: '127.0.0.1' } },
    ...(body && { payload: body }),
  });
  const leave = () => answer.raw.res.destroy();
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave, { once: true });
  return answer;
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function readJson(answer: Answer): Promise<Record<string, unknown>> {
  const text = await textOf(answer.stream());
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (answer.statusCode < 400) return body;
  throw MeshError.fromWire(body);
}

/** Reads a stream of events. Its end without an error is that of a completed run; of others the status is asked. */
function readRun(answer: Answer, after: number, askStatus: () => Promise<Record<string, unknown>>): Run {
  const end = Promise.withResolvers<Awaited<Run['end']>>();
  async function* events(): AsyncGenerator<NumberedEvent, void, void> {
    let [last, isFailed] = [after, answer.statusCode === 204];
    for await (const { id, event } of framesIn(answer.stream() as AsyncIterable<Buffer>)) {
      last = id ?? last;
      isFailed ||= isError({ id, event });
      if (event.error === undefined) yield { event, ...(id !== undefined && { seq: id }) };
    }
    end.resolve(isFailed ? await endIn(askStatus, last) : { status: 'completed' });
  }
  return { numbered: events(), end: end.promise };
}

const isError = ({ event }: Frame) => event.error !== undefined;

/** @throws MeshError for a run that goes on, or of which the client lacks events */
async function endIn(
  askStatus: () => Promise<Record<string, unknown>>,
  after: number,
): Promise<Awaited<Run['end']>> {
  const { status, error, lastSeq } = await askStatus();
  const isBehind = Number(lastSeq ?? 0) > after;
  if (isBehind || !['completed', 'failed', 'cancelled'].includes(String(status)))
    throw new MeshError('unavailable', 'the stream broke');
  if (status === 'completed') return { status };
  return { status: 'failed', ...(error !== undefined && { error: error as { code: string } }) };
}
