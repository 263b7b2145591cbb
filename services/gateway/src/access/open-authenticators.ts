import type { Mesh } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Config, Logger } from '@agentmesh/service';
import { isLoopback } from '../addresses/allowed-hosts.ts';
import type { accessConfig, WayOfAuth } from '../context/access-config.ts';
import type { Authenticator } from './authenticator.ts';
import { byKeys } from './by-keys.ts';
import { byNone } from './by-none.ts';
import { byProxy } from './by-proxy.ts';
import { byTokens } from './by-tokens.ts';

/** The settings of authentication, and the address on which the gateway listens. */
export type AuthSettings = Config<typeof accessConfig> & { httpHost: string };

/** The parts of the mesh that authentication needs. */
type Parts = Pick<Mesh, 'apiKeys'> & { log: Pick<Logger, 'info' | 'warn'> };

/**
 * Returns the ways of authentication that the settings name.
 *
 * @throws MeshError `invalid_argument` for settings that do not go together, such as `none` on an address that
 * other machines reach; `failed_precondition` for keys in a mesh without Redis
 */
export function openAuthenticators(settings: AuthSettings, parts: Parts): Authenticator[] {
  const { auth, httpHost } = settings;
  assertNothingUnused(settings);
  if (auth.includes('none')) {
    if (auth.length > 1) throw refusal('MESH_HTTP_AUTH names none and another way; remove one of them');
    if (!isLoopback(httpHost))
      throw refusal(
        `the gateway authenticates nobody (MESH_HTTP_AUTH=none), and MESH_HTTP_HOST=${httpHost} lets other machines reach it; set MESH_HTTP_AUTH to keys, oidc or proxy, or MESH_HTTP_HOST to 127.0.0.1`,
      );
    parts.log.info(
      { address: httpHost },
      'requests are not authenticated: only this machine reaches the gateway (MESH_HTTP_AUTH=none)',
    );
  }
  const ways: Record<WayOfAuth, () => Authenticator> = {
    none: () => byNone,
    proxy: () => openProxy(settings),
    keys: () => openKeys(parts),
    oidc: () => openTokens(settings),
  };
  return auth.map((way) => ways[way]());
}

function openProxy({ personHeader, rolesHeader, defaultRoles }: AuthSettings): Authenticator {
  if (personHeader === undefined)
    throw refusal(
      'MESH_HTTP_AUTH=proxy needs MESH_HTTP_PERSON_HEADER: the header in which the proxy names the person',
    );
  return byProxy({ personHeader, rolesHeader, defaultRoles });
}

function openKeys({ apiKeys: keys, log }: Parts): Authenticator {
  if (keys) return byKeys({ keys, log });
  throw new MeshError(
    'failed_precondition',
    'this mesh has no Redis, which keeps API keys; set MESH_HTTP_AUTH to another way',
  );
}

function openTokens(settings: AuthSettings): Authenticator {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcJwksUrl: jwksUrl } = settings;
  if (issuer === undefined || audience === undefined || jwksUrl === undefined)
    throw refusal(
      'MESH_HTTP_AUTH=oidc needs MESH_OIDC_ISSUER, MESH_OIDC_AUDIENCE and MESH_OIDC_JWKS_URL; set all three',
    );
  return byTokens({
    ...{ issuer, audience, jwksUrl, algorithms: settings.oidcAlgorithms },
    userClaim: settings.oidcUserClaim,
    rolesClaim: settings.oidcRolesClaim,
    defaultRoles: settings.defaultRoles,
    cooldownMs: settings.oidcCooldownMs,
  });
}

/** Refuses settings of a way that is not on: the operator would believe that they count. */
function assertNothingUnused(settings: AuthSettings): void {
  const { auth, personHeader, rolesHeader, oidcIssuer, oidcAudience, oidcJwksUrl } = settings;
  if (!auth.includes('proxy') && (personHeader ?? rolesHeader) !== undefined)
    throw refusal(
      'MESH_HTTP_PERSON_HEADER and MESH_HTTP_ROLES_HEADER need MESH_HTTP_AUTH=proxy; set it, or remove them',
    );
  if (!auth.includes('oidc') && (oidcIssuer ?? oidcAudience ?? oidcJwksUrl) !== undefined)
    throw refusal('the variables MESH_OIDC_… need MESH_HTTP_AUTH=oidc; set it, or remove them');
}

function refusal(message: string): MeshError {
  return new MeshError('invalid_argument', message);
}
