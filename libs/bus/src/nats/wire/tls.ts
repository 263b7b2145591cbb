import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { MeshError } from '@agentmesh/protocol';

/**
 * The files of a connection with TLS, in PEM. They are read for each connection, so a file may be replaced by a
 * new certificate at any time.
 */
export interface NatsTls {
  /** The certificates that vouch for the server; default: the certificates that Node.js trusts. */
  caFile?: string | undefined;
  /** The certificate that this process presents, with its key; default: none. */
  certFile?: string | undefined;
  keyFile?: string | undefined;
}

/**
 * Returns the options of the client for servers with TLS; undefined when no address asks for TLS.
 *
 * @throws MeshError `invalid_argument` for addresses or files that do not go together
 */
export function readTls(servers: readonly string[], files: NatsTls = {}): NatsTls | undefined {
  const given = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== undefined));
  const encrypted = servers.filter((server) => /^tls:\/\//i.test(server));
  if (encrypted.length === 0) {
    if (Object.keys(given).length === 0) return undefined;
    throw refusal('certificates are for NATS with TLS; begin the address with tls://');
  }
  if (encrypted.length < servers.length) throw refusal('begin all addresses of NATS with tls://, or none');
  for (const server of encrypted) assertNamed(server);
  if ((given['certFile'] === undefined) !== (given['keyFile'] === undefined))
    throw refusal('a certificate for NATS needs its key, and a key its certificate; give both files');
  for (const file of Object.values(given)) assertReadable(file);
  return given;
}

/** The client would compare the certificate of an IP address with the name `localhost`. */
function assertNamed(server: string): void {
  const { hostname } = new URL(server);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return;
  throw refusal(`name the NATS server ${hostname} by its host name; TLS cannot check an IP address`);
}

function assertReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw refusal(`the certificates of NATS cannot be read from ${file}; correct the path`, cause);
  }
}

function refusal(message: string, cause?: unknown): MeshError {
  return new MeshError('invalid_argument', message, { cause });
}
