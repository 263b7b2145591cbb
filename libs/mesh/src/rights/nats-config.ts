import { MeshError } from '@agentmesh/protocol';
import { type Account, type AccountLink, type AccountPlan, planAccounts } from './accounts.ts';
import { passwordVariable } from './password-variable.ts';
import type { ServiceManifest } from './service-manifest.ts';

export interface NatsUsers {
  /** Every agent and tool; the gateway and `client`, for other programs, are added. */
  services: readonly ServiceManifest[];
  /**
   * Returns a user's password, or `$NAME` for a password that nats-server reads from its environment.
   *
   * @param user the name of the user on this NATS
   * @param service the name of its service, which is the user's name without the namespace of the mesh
   */
  password: (user: string, service: string) => string;
  namespace?: string;
}

/** Returns the name of the variable that holds the password of a service's user, in nats-server's environment. */
export function natsPasswordVariable(service: string): string {
  return passwordVariable('NATS_PASSWORD', service);
}

/**
 * Returns the `accounts` part of a nats-server.conf: an account for each service with one user, and an account
 * for JetStream with the user for provisioning. A service reaches another account only by the subjects of its
 * rights. Several meshes with different namespaces share nothing.
 *
 * @throws MeshError `invalid_argument` for two meshes with one namespace
 */
export function natsAccounts(...meshes: readonly NatsUsers[]): string {
  assertDistinct(meshes.map(({ namespace = 'mesh' }) => namespace));
  const blocks = meshes.flatMap(({ services, password, namespace }) => {
    const plan = planAccounts(services, namespace);
    return plan.accounts.map((account) =>
      accountBlock(account, plan, password(account.user, account.service)),
    );
  });
  return `accounts {\n${blocks.join('\n')}\n}\n`;
}

function assertDistinct(namespaces: readonly string[]): void {
  const [twice] = namespaces.filter((each, at) => namespaces.indexOf(each) !== at);
  if (twice === undefined) return;
  throw new MeshError('invalid_argument', `two meshes have the namespace ${twice}; rename one of them`);
}

function accountBlock(account: Account, { links, jetStream }: AccountPlan, password: string): string {
  const { name, maxConnections } = account;
  const parts = [
    ...(name === jetStream ? ['    jetstream: enabled'] : []),
    ...(maxConnections === undefined ? [] : [`    limits: { max_connections: ${maxConnections} }`]),
    `    users: [ ${userText(account, password)} ]`,
    ...listText('exports', exportTexts(links.filter(({ from }) => from === name))),
    ...listText('imports', links.filter(({ to }) => to === name).map(importText)),
  ];
  return `  ${JSON.stringify(name)}: {\n${parts.join('\n')}\n  }`;
}

function userText({ user, permissions }: Account, password: string): string {
  const login = `user: ${JSON.stringify(user)}, password: ${quoted(password)}`;
  if (!permissions) return `{ ${login} }`;
  const { publish, subscribe } = permissions;
  return `{ ${login}, permissions: {
      publish: { allow: ${names(publish)} }
      subscribe: { allow: ${names(subscribe)} }
    } }`;
}

function listText(key: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`    ${key}: [`, ...items.map((item) => `      ${item}`), '    ]'];
}

/** Writes one export for each subject, with the accounts that may import it. */
function exportTexts(links: readonly AccountLink[]): string[] {
  const bySubject = Map.groupBy(links, ({ kind, subject }) => `${kind} ${subject}`);
  return [...bySubject.values()].map((same) => {
    const [{ kind, subject } = { kind: 'service', subject: '' }] = same;
    const answers = same.some(({ hasManyAnswers }) => hasManyAnswers) ? ', response: stream' : '';
    const within = same.find(({ answersWithin }) => answersWithin)?.answersWithin;
    const threshold = within === undefined ? '' : `, threshold: ${JSON.stringify(within)}`;
    const to = names(same.map((link) => link.to));
    return `{ ${kind}: ${JSON.stringify(subject)}${answers}${threshold}, accounts: ${to} }`;
  });
}

function importText({ kind, from, subject }: AccountLink): string {
  return `{ ${kind}: { account: ${JSON.stringify(from)}, subject: ${JSON.stringify(subject)} } }`;
}

function names(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
}

function quoted(password: string): string {
  return password.startsWith('$') ? password : JSON.stringify(password);
}
