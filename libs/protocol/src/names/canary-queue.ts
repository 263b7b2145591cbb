/** No agent has a name with this character. */
const suffix = '~canary';

/** Returns the name of the queue with the runs for the canary of an agent. */
export function canaryQueue(agent: string): string {
  return `${agent}${suffix}`;
}

/** Returns the agent to which a queue of runs belongs: its own queue, or that for its canary. */
export function agentOfQueue(queue: string): string {
  return queue.endsWith(suffix) ? queue.slice(0, -suffix.length) : queue;
}
