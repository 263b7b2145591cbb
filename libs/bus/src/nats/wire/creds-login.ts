import { readFileSync } from 'node:fs';
import { MeshError } from '@agentmesh/protocol';
import { type Authenticator, credsAuthenticator } from '@nats-io/nats-core';

/**
 * Returns the login by a file of credentials, which is read again for each connection. If it cannot be read
 * then, the credentials of the last connection apply.
 *
 * @throws MeshError `invalid_argument` for a second login, and for a file that holds no credentials
 */
export function credsLogin(file: string, { user }: { user?: string }): { authenticator: Authenticator } {
  if (user !== undefined) {
    throw new MeshError(
      'invalid_argument',
      `a file of NATS credentials (${file}) and a NATS user (${user}) exclude each other; set MESH_NATS_CREDS, or MESH_NATS_USER and MESH_NATS_PASSWORD`,
    );
  }
  let credentials = readCredentials(file);
  const readAgain = () => {
    try {
      credentials = readCredentials(file);
    } catch {
      // The file is missing while somebody replaces it.
    }
    return credentials;
  };
  return { authenticator: credsAuthenticator(readAgain) };
}

const parts = [
  /-----BEGIN NATS USER JWT-----\s+\S+\s+-+END NATS USER JWT-+/,
  /-----BEGIN USER NKEY SEED-----\s+SU\w+\s+-+END USER NKEY SEED-+/,
];

function readCredentials(file: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('invalid_argument', `the file of NATS credentials cannot be read: ${reason}`, {
      cause,
    });
  }
  const text = new TextDecoder().decode(bytes);
  if (parts.every((part) => part.test(text))) return bytes;
  throw new MeshError(
    'invalid_argument',
    `${file} holds no NATS credentials; name the file that 'npm run mesh -- accounts' wrote for this service`,
  );
}
