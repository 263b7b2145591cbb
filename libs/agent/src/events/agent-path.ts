import type { Event } from '@agentmesh/protocol';

/**
 * ADK's record of the agent run that an event comes from: `pipeline.writer`, or `refine.critic@2` in a loop's
 * second round.
 */
export interface WithNodeInfo {
  nodeInfo?: { path?: string };
}

export function pathOf(event: Event & WithNodeInfo): string | undefined {
  return event.nodeInfo?.path;
}

/** Records the run that an event comes from, unless an inner run has recorded itself already. */
export function stampPath(event: Event & WithNodeInfo, path: string): void {
  event.nodeInfo ??= { path };
}

export function isInPath(event: Event, path: string): boolean {
  const eventPath = pathOf(event);
  return eventPath === path || (eventPath?.startsWith(`${path}.`) ?? false);
}

/**
 * Tells whether a reader on a branch sees an event. The reader sees events of its own branch and of the
 * branches above that branch. Everybody sees an event without a branch, and a reader without a branch sees
 * all events.
 */
export function isOnBranch(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (!eventBranch || !branch) return true;
  return branch === eventBranch || branch.startsWith(`${eventBranch}.`);
}
