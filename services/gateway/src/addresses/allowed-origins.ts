import { MeshError } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from './allowed-hosts.ts';

/**
 * Returns a check for a gateway that authenticates nobody. It refuses requests that change something and come
 * from a page of another site: a browser sends them without asking when they have no body (cross-site request
 * forgery). Pages of this machine, and of the allowed origins, pass.
 */
export function originCheck(allowed: readonly string[]): (request: FastifyRequest) => void {
  return ({ method, headers: { origin } }) => {
    if (origin === undefined || ['GET', 'HEAD', 'OPTIONS'].includes(method)) return;
    if (allowed.includes('*') || allowed.includes(origin)) return;
    if (URL.canParse(origin) && isLoopback(new URL(origin).hostname.replace(/^\[|\]$/g, ''))) return;
    throw new MeshError(
      'permission_denied',
      `this gateway takes no requests from pages of ${origin}; name the origin in MESH_HTTP_CORS_ORIGINS if it shall`,
    );
  };
}
