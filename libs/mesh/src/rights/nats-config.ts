import {
  busName,
  clientManifest,
  gatewayManifest,
  type Permissions,
  permissionsOf,
  type ServiceManifest,
} from './permissions.ts';

export interface NatsUsers {
  /** Every agent and tool; the gateway and `client`, for other programs, are added. */
  services: readonly ServiceManifest[];
  /** Returns a user's password, or `$NAME` for a password that nats-server reads from its environment. */
  password: (user: string) => string;
  namespace?: string;
}

/** The user that may make streams, consumers and buckets. */
export const provisionUser = 'provision';

/**
 * Returns the `accounts` part of a nats-server.conf: a user for each service with only the service's subjects
 * and inboxes, and a user for provisioning.
 */
export function natsAccounts({ services, password, namespace }: NatsUsers): string {
  const all = [gatewayManifest, clientManifest, ...services];
  const users = all.map((manifest) => {
    const user = busName(manifest);
    return userBlock(user, password(user), permissionsOf(manifest, services, namespace));
  });
  return `accounts {
  MESH: {
    jetstream: enabled
    users: [
      { user: ${provisionUser}, password: ${quoted(password(provisionUser))} }
${users.join('\n')}
    ]
  }
}
`;
}

function userBlock(user: string, password: string, { publish, subscribe, answers }: Permissions): string {
  const list = (subjects: readonly string[]) => subjects.map((subject) => JSON.stringify(subject)).join(', ');
  // As many answers as a stream of frames needs, for as long as a run may take.
  const responses = answers ? '\n        allow_responses: { max: -1, expires: "24h" }' : '';
  return `      { user: ${JSON.stringify(user)}, password: ${quoted(password)}, permissions: {
        publish: { allow: [${list(publish)}] }
        subscribe: { allow: [${list(subscribe)}] }${responses}
      } }`;
}

function quoted(password: string): string {
  return password.startsWith('$') ? password : JSON.stringify(password);
}
