import type { Event } from '@agentmesh/protocol';

/** ADK's record of which run of which agent an event comes from: `pipeline.writer`, in a loop's second round `refine.critic@2`. */
export interface WithNodeInfo {
  nodeInfo?: { path?: string };
}

export function pathOf(event: Event & WithNodeInfo): string | undefined {
  return event.nodeInfo?.path;
}

/** Notes the run that an event comes from; the innermost one is there first and stays. */
export function stampPath(event: Event & WithNodeInfo, path: string): void {
  event.nodeInfo ??= { path };
}

export function isInPath(event: Event, path: string): boolean {
  const own = pathOf(event);
  return own === path || (own?.startsWith(`${path}.`) ?? false);
}

/** An event is seen on its own branch and below; one without a branch is seen by all, and a reader without one sees all. */
export function isOnBranch(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (!eventBranch || !branch) return true;
  return branch === eventBranch || branch.startsWith(`${eventBranch}.`);
}
