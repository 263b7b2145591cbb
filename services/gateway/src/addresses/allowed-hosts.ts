import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { MeshError } from '@agentmesh/protocol';

/**
 * Returns a check that refuses requests whose `Host` names another machine: a page could have pointed that
 * name to this machine, to read data that only this machine may read (DNS rebinding). Names of this machine
 * always pass.
 *
 * @param httpHost the address of the gateway; if other machines reach it, any name passes unless `allowed`
 * restricts them
 * @param allowed names beside the names of this machine; `*` stands for any name
 */
export function hostCheck(httpHost: string, allowed: readonly string[] | undefined): (host?: string) => void {
  const names = allowed ?? (isLoopback(httpHost) ? [] : ['*']);
  if (names.includes('*')) return () => {};
  return (host) => {
    // Programs with HTTP/1.0 send no host; browsers always do.
    if (host === undefined) return;
    const name = nameIn(host);
    if (name !== undefined && (isLoopback(name) || name === httpHost || names.includes(name))) return;
    throw new MeshError(
      'permission_denied',
      `this gateway does not serve host ${JSON.stringify(host)}; name it in MESH_HTTP_ALLOWED_HOSTS if it shall`,
    );
  };
}

/** Returns the name in a `Host` header, without the port and the brackets of IPv6. */
function nameIn(host: string): string | undefined {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return undefined;
  }
}

/** Tells whether a name or an address stands for this machine alone. */
export function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return isIP(name) === 4 && name.startsWith('127.');
}

/**
 * Returns the host that a request names, with its port if it has one: that of the address when the address is a whole
 * one, else that of the header. Undefined for a request of HTTP/1.0 without one.
 *
 * @throws MeshError `invalid_argument` for a request of HTTP/1.1 without a host, for two hosts, for a host with user
 * information, and for an address that names another host than the header
 */
export function namedHost({
  headers,
  httpVersion,
  rawHeaders,
  url = '/',
}: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'rawHeaders' | 'url'>): string | undefined {
  const { host } = headers;
  if (host === undefined && httpVersion === '1.1')
    throw new MeshError('invalid_argument', 'the header host is missing, which HTTP/1.1 requires; add it');
  if (rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1)
    throw new MeshError('invalid_argument', 'the header host stands twice; send it once');
  const ofAddress = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (ofAddress !== undefined && host !== undefined && ofAddress.toLowerCase() !== host.toLowerCase())
    throw new MeshError(
      'invalid_argument',
      `the address names host ${JSON.stringify(ofAddress)} and the header host ${JSON.stringify(host)}; name one`,
    );
  const named = ofAddress ?? host;
  if (named?.includes('@'))
    throw new MeshError(
      'invalid_argument',
      'the host has user information; send the name alone, without the @',
    );
  return named;
}
