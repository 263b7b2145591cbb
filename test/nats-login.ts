import { readFileSync } from 'node:fs';
import { type Authenticator, credsAuthenticator } from '@nats-io/transport-node';

/** A login of a launched mesh in the form of the NATS client, which reads no files with credentials. */
export function natsLogin({ credsFile, ...password }: { user?: string; pass?: string; credsFile?: string }): {
  user?: string;
  pass?: string;
  authenticator?: Authenticator;
} {
  return credsFile === undefined ? password : { authenticator: credsAuthenticator(readFileSync(credsFile)) };
}

/** A login of a launched mesh as variables of the command. */
export function loginVariables({
  user,
  pass,
  credsFile,
}: {
  user?: string;
  pass?: string;
  credsFile?: string;
}): Record<string, string> {
  if (credsFile !== undefined) return { MESH_NATS_CREDS: credsFile };
  return {
    ...(user !== undefined && { MESH_NATS_USER: user }),
    ...(pass !== undefined && { MESH_NATS_PASSWORD: pass }),
  };
}
