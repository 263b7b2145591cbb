import { type AgentCard, MeshError } from '@agentmesh/protocol';
import { agentCards, untilCardsAreRead } from './cards.ts';
import type { Mesh } from './mesh.ts';

/**
 * Returns the app's root agent. A card outlives its agent: if several agents claim the app, an agent without
 * a replica does not count.
 *
 * @throws MeshError `not_found`; `failed_precondition` when two agents that are up claim the app; as
 * {@link untilCardsAreRead}
 */
export async function rootOf(mesh: Mesh, app: string): Promise<AgentCard> {
  await untilCardsAreRead(mesh);
  const candidates = agentCards(mesh).filter((card) => card.app === app);
  const [first] = candidates;
  if (!first) {
    const apps = appNames(mesh).join(', ') || 'none';
    throw new MeshError('not_found', `there is no app ${app} in the mesh; the apps are: ${apps}`);
  }
  if (candidates.length === 1) return first;
  const isUp = await Promise.all(
    candidates.map(({ name }) => mesh.bus.isServed(mesh.subjects.shownAs(name))),
  );
  const up = candidates.filter((_card, index) => isUp[index]);
  if (up.length < 2) return up[0] ?? first;
  throw new MeshError(
    'failed_precondition',
    twoRoots(
      app,
      up.map(({ name }) => name),
    ),
  );
}

export function twoRoots(app: string, names: readonly string[]): string {
  const [first = '', ...others] = names;
  const more = others.join(' and ');
  return `app ${app} is served by agent ${first}, and ${more} claims it too: an app has one root agent; give ${more} another app, or stop ${first}`;
}

/** Returns all apps that have a root agent, sorted. */
export function appNames(mesh: Mesh): string[] {
  return [...new Set(agentCards(mesh).flatMap(({ app }) => app ?? []))].sort();
}
