import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { redisAcl, type ServiceManifest } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node';

/** The forms in which NATS gets the accounts of a field: its configuration, JWTs, or one account for everybody. */
export const accountForms = ['file', 'jwt', 'none'] as const;
export type AccountForm = (typeof accountForms)[number];

/** The login of a NATS user, as `connectNats` takes it: a name and password, a file, or nothing. */
export type Login = { user: string; pass: string } | { credsFile: string } | Record<string, never>;

/** Returns the password of a user, which is made at the first call. */
export type PasswordOf = (user: string) => string;

export function makePasswords(): PasswordOf {
  const passwords = new Map<string, string>();
  return (user) => {
    const pass = passwords.get(user) ?? randomBytes(8).toString('hex');
    passwords.set(user, pass);
    return pass;
  };
}

/** Returns the users of Redis, one for each service, as lines of an ACL file. */
export function redisUsersOf(services: readonly ServiceManifest[], passwordOf: PasswordOf): string {
  return redisAcl({
    services,
    passwordHash: (user) => createHash('sha256').update(passwordOf(user)).digest('hex'),
  });
}

/** Returns an address of Redis with the login of a user. */
export function redisUrlAs(url: string, user: string, passwordOf: PasswordOf): string {
  return url.replace('://', `://${user}:${passwordOf(user)}@`);
}

/** Returns the variables by which a process logs in to NATS. */
export function natsEnvironment(login: Login): NodeJS.ProcessEnv {
  if ('credsFile' in login) return { MESH_NATS_CREDS: login.credsFile };
  return 'user' in login ? { MESH_NATS_USER: login.user, MESH_NATS_PASSWORD: login.pass } : {};
}

/** Opens a plain connection to NATS for a service, with the inboxes of this service. */
export function connectAs(
  url: string,
  service: string,
  login: Login,
  options: ConnectionOptions = {},
): Promise<NatsConnection> {
  const inboxPrefix = subjects().inboxPrefix(service);
  return connect({ servers: url.split(','), inboxPrefix, ...natsLogin(login), ...options });
}

function natsLogin(login: Login): ConnectionOptions {
  return 'credsFile' in login ? { authenticator: credsAuthenticator(readFileSync(login.credsFile)) } : login;
}
