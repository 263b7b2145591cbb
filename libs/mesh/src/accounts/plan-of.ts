import { type AccountPlan, planAccounts } from '../rights/accounts.ts';
import { busName, type ServiceManifest } from '../rights/service-manifest.ts';
import type { MeshFolder } from './key-folder.ts';

/**
 * Plans the accounts of the services of a mesh. In a shared mesh, such as that of a dev loop, all services but
 * those that joined it work in the account of JetStream, with one login.
 */
export async function planOf(
  mesh: MeshFolder,
  services: readonly ServiceManifest[],
  namespace: string,
): Promise<AccountPlan> {
  const plan = planAccounts(services, namespace);
  return (await mesh.isShared()) ? sharePlan(plan, services) : plan;
}

function sharePlan(
  { accounts, links, jetStream }: AccountPlan,
  services: readonly ServiceManifest[],
): AccountPlan {
  const apart = new Set(services.filter(({ joined }) => joined).map(busName));
  const kept = accounts.filter(({ name, service }) => name === jetStream || apart.has(service));
  const names = new Set(kept.map(({ name }) => name));
  const homeOf = (account: string) => (names.has(account) ? account : jetStream);
  const moved = links.map((link) => ({ ...link, from: homeOf(link.from), to: homeOf(link.to) }));
  // Several services of the shared account may have the same link.
  const distinct = new Map(
    moved.map((link) => [[link.from, link.to, link.kind, link.subject].join(' '), link]),
  );
  return { accounts: kept, links: [...distinct.values()].filter(({ from, to }) => from !== to), jetStream };
}
