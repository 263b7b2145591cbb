import type { Socket } from 'node:net';
import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** What a client gets for an error: ADK's `error` text, and our code and details beside it. */
export function errorBody({ code, message, details }: MeshError) {
  return { error: message, code, ...(details && { details }) };
}

/** Answers a request with an error: the cause goes to the log, code and message to the client. */
export function answerError(
  log: Logger,
  thrown: unknown,
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
  reply: FastifyReply,
): void {
  const complaint = complaintOf(thrown);
  const error = complaint?.error ?? MeshError.from(thrown, 'the gateway failed; its log has the cause');
  if (error.code === 'internal') log.error({ err: thrown, method, url }, 'request failed');
  if (error.code === 'unavailable') reply.header('retry-after', '1');
  reply.status(complaint?.status ?? error.httpStatus).send(errorBody(error));
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

/** What a client gets that does not even speak HTTP as it should; there is no request to answer. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const status = tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const message = tooLarge ? 'the address or the headers are too long' : 'this is no HTTP request';
  const body = JSON.stringify(errorBody(new MeshError('invalid_argument', message)));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
