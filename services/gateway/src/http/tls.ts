import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayConfig } from '../context/config.ts';

/** A certificate of the gateway with its key, in PEM. */
export interface ServerCertificate {
  cert: Buffer;
  key: Buffer;
}

/**
 * Reads the certificate of the gateway. Returns undefined when none is configured.
 *
 * @throws MeshError `invalid_argument` for one file without the other, a file that cannot be read, or files
 * that do not belong together
 */
export function readCertificate({
  httpCertFile: certFile,
  httpKeyFile: keyFile,
}: Pick<GatewayConfig, 'httpCertFile' | 'httpKeyFile'>): ServerCertificate | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw refusal('HTTPS needs MESH_HTTP_CERT_FILE and MESH_HTTP_KEY_FILE; set both, or none');
  const certificate = { cert: readPem(certFile), key: readPem(keyFile) };
  try {
    createSecureContext(certificate);
  } catch (cause) {
    throw refusal(
      `the certificate ${certFile} with the key ${keyFile} cannot be used: ${(cause as Error).message}`,
      cause,
    );
  }
  return certificate;
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw refusal(`the gateway cannot read ${file}; correct the path`, cause);
  }
}

function refusal(message: string, cause?: unknown): MeshError {
  return new MeshError('invalid_argument', message, { cause });
}
