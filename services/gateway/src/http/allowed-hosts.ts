import { isIP } from 'node:net';
import { MeshError } from '@agentmesh/protocol';

/**
 * Refuses requests whose `Host` names another machine: a page of that name may have had it point here, and would read what this machine alone may
 * (DNS rebinding). Names of this machine always pass.
 *
 * @param httpHost the address that the gateway listens on; where others reach it, any name passes unless `allowed` says which
 * @param allowed names beside those of this machine; `*` is any
 */
export function hostCheck(httpHost: string, allowed: readonly string[] | undefined): (host?: string) => void {
  const names = allowed ?? (isLoopback(httpHost) ? [] : ['*']);
  if (names.includes('*')) return () => {};
  return (host) => {
    // Programs that speak HTTP/1.0 name none; browsers always do.
    if (host === undefined) return;
    const name = nameIn(host);
    if (name !== undefined && (isLoopback(name) || name === httpHost || names.includes(name))) return;
    throw new MeshError(
      'permission_denied',
      `this gateway does not serve host ${JSON.stringify(host)}; name it in MESH_HTTP_ALLOWED_HOSTS if it shall`,
    );
  };
}

/** The name in a `Host` header, without the port and the brackets of IPv6. */
function nameIn(host: string): string | undefined {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return undefined;
  }
}

function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return isIP(name) === 4 && name.startsWith('127.');
}
