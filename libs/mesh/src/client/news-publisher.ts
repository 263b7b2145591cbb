import { encodeName } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { serviceName } from '../mesh/service-name.ts';
import { agentsOf } from '../remote/transfer-port.ts';

/** The time after which a refused publisher causes another look at the cards and at the log, in ms. */
const refusedMs = 1_000;

/** The treatment of a message: it is passed on, the log is read instead, or nothing happens. */
export type NewsFate = 'pass' | 'look' | 'ignore';

/** The beginning of the names of all agents' services. */
const agentService = serviceName('agent', '');

/**
 * Returns a function that judges news of an app's invocations by the publisher whose name ends their subject.
 * The agents of the app's tree may publish, because they may also write to its sessions; an agent of another app
 * may not. Its news cause a look at the log, at most once a second, because the cards may not name a new agent
 * of the tree yet. Services that are no agents are believed. While no agent is known to have the app, all are
 * believed: a mesh without cards knows no apps.
 */
export function publisherCheck(mesh: Mesh, app: string): (subject: string) => NewsFate {
  const believed = new Set<string>();
  const refusedUntil = new Map<string, number>();
  return (subject) => {
    const publisher = subject.slice(subject.lastIndexOf('.') + 1);
    if (!publisher.startsWith(agentService) || believed.has(publisher)) return 'pass';
    const now = performance.now();
    if ((refusedUntil.get(publisher) ?? 0) > now) return 'ignore';
    const agents = agentsOf(mesh, app);
    if (agents.size === 0) return 'pass';
    if ([...agents].some((name) => encodeName(serviceName('agent', name)) === publisher)) {
      believed.add(publisher);
      return 'pass';
    }
    if (!refusedUntil.has(publisher))
      mesh.log.warn({ app, publisher }, 'ignored news of an agent that does not belong to the app');
    refusedUntil.set(publisher, now + refusedMs);
    return 'look';
  };
}
