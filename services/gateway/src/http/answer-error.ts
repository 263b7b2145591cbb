import type { Socket } from 'node:net';
import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { dataBlock } from './sse-stream.ts';

/** What a client gets for an error: ADK's `error` text, and our code and details beside it. */
export function errorBody({ code, message, details }: MeshError) {
  return { error: message, code, ...(details && { details }) };
}

/** Answers a request with an error: the cause goes to the log, code and message to the client. */
export function answerError(
  log: Logger,
  thrown: unknown,
  { method, url, headers }: Pick<FastifyRequest, 'method' | 'url' | 'headers'>,
  reply: FastifyReply,
): void {
  const complaint = complaintOf(thrown);
  const error = complaint?.error ?? MeshError.from(thrown, 'the gateway failed; its log has the cause');
  if (error.code === 'internal') log.error({ err: thrown, method, url }, 'request failed');
  if (error.code === 'unavailable') reply.header('retry-after', '1');
  reply.status(complaint?.status ?? error.httpStatus);
  const body = errorBody(error);
  if (readsEvents(url, headers.accept)) reply.type('text/event-stream').send(dataBlock(body));
  else reply.send(body);
}

/** ADK's web UI reads the frames of `/run_sse` whatever the status is, and shows no other body. */
function readsEvents(url: string, accept = ''): boolean {
  return url.split('?')[0] === '/run_sse' && accept.includes('text/event-stream');
}

const hints: Record<number, string> = {
  413: 'the body is larger than this gateway takes (MESH_BODY_LIMIT)',
  415: 'send the body as JSON, with the header content-type: application/json',
};

/** The server's own complaints of a request, with their status: too large, wrong content type, an address that is none. */
function complaintOf(thrown: unknown): { status: number; error: MeshError } | undefined {
  if (!(thrown instanceof Error) || thrown instanceof MeshError || !('statusCode' in thrown))
    return undefined;
  const { statusCode: status, message } = thrown;
  if (typeof status !== 'number' || status >= 500) return undefined;
  const error = new MeshError('invalid_argument', hints[status] ?? message, { cause: thrown });
  return { status, error };
}

const clientErrors: Record<string, { status: string; message: string }> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'the address or the headers are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'the request did not arrive in time (MESH_REQUEST_TIMEOUT_MS)',
  },
};

/** What a client gets that does not even speak HTTP as it should; there is no request to answer. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const { status, message } = clientErrors[error.code ?? ''] ?? {
    status: '400 Bad Request',
    message: 'this is no HTTP request',
  };
  const body = JSON.stringify(errorBody(new MeshError('invalid_argument', message)));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  // Who sends a byte now and then would keep its half open.
  socket.destroySoon();
}
