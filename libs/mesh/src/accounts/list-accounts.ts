import type { KeyFolder } from './key-folder.ts';
import { planOf } from './plan-of.ts';

/** An account of a mesh, as an operator sees it. */
export interface ListedAccount {
  service: string;
  /** The public key that is the identity of the account. */
  account: string;
  /** The file with the credentials of its user. */
  creds: string;
  /** True while the old credentials are valid too. */
  isRotating: boolean;
}

/** Lists the accounts of a mesh. */
export async function listAccounts(folder: KeyFolder, namespace: string): Promise<ListedAccount[]> {
  const mesh = folder.mesh(namespace);
  const { accounts } = await planOf(mesh, await mesh.services(), namespace);
  const listed = await Promise.all(
    accounts.map(async ({ service }) => {
      const keys = await mesh.account(service);
      if (!keys) return [];
      const { account, signing } = keys;
      return [{ service, account, creds: mesh.creds(service), isRotating: signing.length > 1 }];
    }),
  );
  return listed.flat();
}
