import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isDenied } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { idsOf, newIds, noteReason, type RequestIds } from './request-ids.ts';
import { dataBlock } from './sse-stream.ts';

/**
 * Logs an error of a request, and returns the body for its client: ADK's `error` text, with our code, details
 * and ids beside it. All errors of the gateway go through here, so that the log line and the body have the
 * same ids.
 *
 * @param about more fields for the log line
 */
export function reportError(
  log: Logger,
  thrown: unknown,
  { traceId, invocationId }: RequestIds,
  about: { method?: string; url?: string } = {},
) {
  const error = MeshError.from(ownFault(thrown), 'the gateway failed; its log has the cause');
  const { code, message, details } = error;
  const ids = { traceId, ...(invocationId !== undefined && { invocationId }) };
  if (code === 'internal') log.error({ ...ids, err: thrown, ...about }, 'request failed');
  else log.debug({ ...ids, code, reason: message, ...about }, 'answered with an error');
  return { error: message, code, ...(details && { details }), ...ids };
}

/** Answers a request with an error: the cause goes to the log, code and message to the client. */
export function answerError(
  log: Logger,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { method, url, headers } = request;
  const complaint = complaintOf(thrown);
  const error = complaint?.error ?? MeshError.from(ownFault(thrown));
  const isPassing = error.code === 'unavailable' || error.code === 'resource_exhausted';
  const mayRetry = isPassing && error.details?.mayRepeat !== false;
  if (mayRetry) reply.header('retry-after', String(secondsToWait(error)));
  reply.status(complaint?.status ?? error.httpStatus);
  // Closing the connection while the client still sends would take the answer from it: the rest is read and forgotten.
  if (reply.statusCode === 413) reply.removeHeader('connection');
  const body = reportError(log, complaint?.error ?? thrown, idsOf(request), {
    method,
    url: withoutValues(url),
  });
  noteReason(request, body.error);
  if (readsEvents(url, headers.accept)) reply.type('text/event-stream').send(dataBlock(body));
  else reply.send(body);
}

/**
 * Returns a defect in the place of an error that says that the message server gives the gateway no right: the client has
 * no part in it, and the subject in its text is for the log alone.
 */
function ownFault(thrown: unknown): unknown {
  const isDefect = thrown instanceof MeshError && isDenied(thrown.cause);
  return isDefect ? new Error('the gateway may not do this', { cause: thrown }) : thrown;
}

/** Returns an address for the log, with the names of its query alone: a value may be a secret of the client. */
function withoutValues(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return url;
  const names = new Set(new URLSearchParams(url.slice(at)).keys());
  return `${url.slice(0, at)}?${[...names].map(encodeURIComponent).join('&')}`;
}

/** Returns the time after which a request may succeed, in s. */
function secondsToWait({ details }: MeshError): number {
  const ms = Number(details?.retryAfterMs);
  return ms > 0 ? Math.ceil(ms / 1_000) : 1;
}

/**
 * Tells whether the client reads the error as a frame: ADK's web UI reads the frames of `/run_sse` with any
 * status, and shows no other body.
 */
function readsEvents(url: string, accept = ''): boolean {
  return url.split('?')[0] === '/run_sse' && accept.includes('text/event-stream');
}

const hints: Record<number | string, string> = {
  // The text of the HTTP server repeats the whole address, with its query.
  FST_ERR_BAD_URL: 'the address is no valid url component: encode each part of its path',
  413: 'the body is larger than this gateway takes (MESH_BODY_LIMIT)',
  415: 'send the body as JSON, with the header content-type: application/json',
};

/**
 * Returns an error of the HTTP server itself about a request, with its status: too large, wrong content type,
 * an invalid address.
 */
function complaintOf(thrown: unknown): { status: number; error: MeshError } | undefined {
  if (!(thrown instanceof Error) || thrown instanceof MeshError || !('statusCode' in thrown))
    return undefined;
  const { statusCode: status, message } = thrown;
  if (typeof status !== 'number' || status >= 500) return undefined;
  // An error of the gateway itself says what to do.
  const hint = 'code' in thrown ? (hints[status] ?? hints[String(thrown.code)]) : undefined;
  const error = new MeshError('invalid_argument', hint ?? message, { cause: thrown });
  return { status, error };
}

interface ClientError {
  status: string;
  message: string;
  /** A further header, with its end of line. */
  header?: string;
}

const noHttp: ClientError = { status: '400 Bad Request', message: 'this is no HTTP request' };
const clientErrors: Record<string, ClientError> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'the address or the headers are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'the request did not arrive in time (MESH_REQUEST_TIMEOUT_MS)',
    header: 'retry-after: 1\r\n',
  },
};

/** Answers a request that expects something else of the server than the leave to send its body. */
export function answerExpectation(
  log: Logger,
  { headers: { expect } }: IncomingMessage,
  response: ServerResponse,
): void {
  const message = `the header expect is ${JSON.stringify(expect)}; send 100-continue, or none`;
  const body = JSON.stringify(reportError(log, new MeshError('invalid_argument', message), newIds({})));
  // The body of the request is not read.
  response
    .writeHead(417, {
      ...{ 'content-type': 'application/json', connection: 'close' },
      'content-length': Buffer.byteLength(body),
    })
    .end(body);
}

/** Answers a client whose bytes are not valid HTTP; there is no request object to answer. */
export function answerClientError(log: Logger, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const { status, message, header = '' } = clientErrors[error.code ?? ''] ?? noHttp;
  const body = JSON.stringify(reportError(log, new MeshError('invalid_argument', message), newIds({})));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${header}connection: close\r\n\r\n${body}`,
  );
  // A client that sends a byte now and then would keep its half of the connection open.
  socket.destroySoon();
}
