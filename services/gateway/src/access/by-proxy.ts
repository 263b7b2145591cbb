import { MeshError } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import type { Authenticator } from './authenticator.ts';

export interface ProxyOptions {
  /** The header with the person, in lower case. */
  personHeader: string;
  /** The header with the roles of the person; without it the proxy names no roles. */
  rolesHeader?: string | undefined;
  /** Roles of every person. */
  defaultRoles: readonly string[];
}

/** Believes the headers of the proxy before the gateway, which has authenticated the person. */
export function byProxy({ personHeader, rolesHeader, defaultRoles }: ProxyOptions): Authenticator {
  return {
    way: 'proxy',
    wants: `it through the proxy, which names the person in the header ${personHeader}`,
    async authenticate({ headers }) {
      const user = textOf(headers[personHeader]);
      if (user === '') return undefined;
      if (Array.isArray(headers[personHeader]) || user.includes(','))
        throw new MeshError('unauthenticated', `the header ${personHeader} names several persons; name one`);
      const named = rolesHeader === undefined ? [] : listOf(headers[rolesHeader]);
      return { via: 'proxy', user, roles: [...named, ...defaultRoles] };
    },
  };
}

type Header = FastifyRequest['headers'][string];

function textOf(header: Header): string {
  return [header ?? ''].flat().join(', ').trim();
}

function listOf(header: Header): string[] {
  return textOf(header)
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '');
}
