import { MeshError } from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';

/** One way to find out who sends a request. A further way is a further file with this interface. */
export interface Authenticator {
  /** The word of the way in `MESH_HTTP_AUTH`. */
  readonly way: string;
  /** The credentials that this way reads, for the message of a request without any. */
  readonly wants: string;
  /**
   * Returns the caller, or undefined for a request without credentials of this way.
   *
   * @throws MeshError `unauthenticated` for wrong credentials, `unavailable` when they cannot be checked now
   */
  authenticate(request: FastifyRequest): Promise<Caller | undefined>;
}

/**
 * Authenticates a request by the first way that finds credentials. A refusal sets `WWW-Authenticate` (RFC 6750,
 * section 3).
 *
 * @throws MeshError as {@link Authenticator.authenticate}, and `unauthenticated` without any credentials
 */
export async function authenticate(
  ways: readonly Authenticator[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  try {
    for (const way of ways) {
      const caller = await way.authenticate(request);
      if (caller) return caller;
    }
  } catch (error) {
    const { code, message } = MeshError.from(error);
    if (code === 'unauthenticated') {
      // Quotes and control characters would end the text of the header.
      const why = message.replace(/[^ !#-[\]-~]/g, '');
      reply.header(
        'www-authenticate',
        `Bearer realm="agentmesh", error="invalid_token", error_description="${why}"`,
      );
    }
    throw error;
  }
  reply.header('www-authenticate', 'Bearer realm="agentmesh"');
  // Credentials of another kind are wrong, and not absent: the message must not say that there are none.
  const has =
    bearerOf(request) === undefined ? 'no credentials' : 'credentials that no way of this gateway reads';
  throw new MeshError(
    'unauthenticated',
    `the request has ${has}; send ${ways.map(({ wants }) => wants).join(', or ')}`,
  );
}

/** Returns the token of the header `Authorization: Bearer …` (RFC 6750, section 2.1). */
export function bearerOf({ headers }: FastifyRequest): string | undefined {
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(headers.authorization ?? '') ?? [];
  return token;
}
