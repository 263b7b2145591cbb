import { MeshError } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../context/config.ts';

/** The person who sends a request. */
export interface Person {
  name: string;
  /** Undefined if the gateway is not told of roles. */
  roles?: string[];
}

/**
 * Returns the person who sends a request: the proxy in front of the gateway names the person and the roles in
 * headers. Without such headers in the configuration the person is the user of the request, without roles.
 *
 * @throws MeshError `unauthenticated` for a request without the configured header
 */
export function personOf(
  { personHeader, rolesHeader }: Pick<GatewayConfig, 'personHeader' | 'rolesHeader'>,
  { headers }: FastifyRequest,
  userId: string,
): Person {
  const roles = rolesHeader === undefined ? undefined : listOf(headers[rolesHeader]);
  const name = personHeader === undefined ? userId : textOf(headers[personHeader]);
  if (!name) {
    throw new MeshError(
      'unauthenticated',
      `the request has no header ${personHeader}, which names the person; send it through the proxy that sets it`,
    );
  }
  return { name, ...(roles && { roles }) };
}

function textOf(header: string | string[] | undefined): string {
  return [header ?? ''].flat().join(', ').trim();
}

function listOf(header: string | string[] | undefined): string[] {
  return textOf(header)
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '');
}
