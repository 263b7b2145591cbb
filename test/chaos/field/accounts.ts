import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AccountResolver, openResolver } from '@agentmesh/bus';
import { natsAccounts, type ServiceManifest } from '@agentmesh/mesh';
import { addServices, initAccounts } from '@agentmesh/mesh/accounts';
import { until } from '@agentmesh/testing';
import type { AccountForm, Login, PasswordOf } from './logins.ts';

/** The accounts of a field. */
export interface FieldAccounts {
  /** The text for nats-server.conf. */
  configuration: string;
  /** Gives the accounts to servers that run. */
  push(natsUrl: string): Promise<void>;
  /** Returns the login of a NATS user: `client`, `provision`, or the user of a service. */
  login(user: string): Login;
}

/** Makes the accounts of the services. Keys of the JWT form lie in the folder. */
export async function makeAccounts(
  form: AccountForm,
  services: readonly ServiceManifest[],
  { passwordOf, folder: path }: { passwordOf: PasswordOf; folder: string },
): Promise<FieldAccounts> {
  const push = async () => {};
  if (form === 'none') return { configuration: '', push, login: () => ({}) };
  if (form === 'file') {
    const configuration = natsAccounts({ services, password: passwordOf });
    return { configuration, push, login: (user) => ({ user, pass: passwordOf(user) }) };
  }
  const folder = await initAccounts(join(path, 'keys'));
  const { creds } = folder.mesh('mesh');
  return {
    configuration: await readFile(folder.configuration, 'utf8'),
    async push(url) {
      await using resolver = await resolverOf(url, folder.systemCreds);
      await addServices({ folder, namespace: 'mesh', resolver }, services);
    },
    login: (user) => ({ credsFile: creds(user) }),
  };
}

/** Connects to the stores of accounts of all servers, when the servers of a cluster have found each other. */
async function resolverOf(url: string, credsFile: string): Promise<AccountResolver> {
  return await until(
    async () => {
      const resolver = await openResolver({ url, credsFile });
      if (resolver.servers === url.split(',').length) return resolver;
      await resolver[Symbol.asyncDispose]();
      return undefined;
    },
    { what: 'the NATS servers to find each other', timeoutMs: 120_000 },
  );
}
