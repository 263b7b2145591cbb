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
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = fromHttp(thrown) ?? MeshError.from(thrown, 'the gateway failed; its log has the cause');
  if (error.code === 'internal')
    log.error({ err: thrown, method: request.method, url: request.url }, 'request failed');
  if (error.code === 'unavailable') reply.header('retry-after', '1');
  reply.status(error.httpStatus).send(errorBody(error));
}

/** The server's own complaints of a request: too large, wrong content type. */
function fromHttp(thrown: unknown): MeshError | undefined {
  if (!(thrown instanceof Error) || thrown instanceof MeshError || !('statusCode' in thrown))
    return undefined;
  const { statusCode, message } = thrown;
  if (typeof statusCode !== 'number' || statusCode >= 500) return undefined;
  return new MeshError('invalid_argument', message, { cause: thrown });
}
