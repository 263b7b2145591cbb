/** The agents that the runs of the map begin with; each is the root of an app. */
export const mapAgents = [
  'plain_agent',
  'call_agent',
  'one_agent',
  'two_agent',
  'three_agent',
  'transfer_agent',
  'parallel_agent',
  'job_agent',
] as const;

/** The subject of requests by nats.js alone. */
export const echo = 'bench.echo';

export const jobTool = 'count_up';

/** The number of progress reports of a job. */
export const progresses = 3;

/** Names one of the agents that only other agents use. */
export function leaf(number: number): string {
  return `leaf_${number}_agent`;
}

export const leaves = Array.from({ length: 8 }, (_, at) => leaf(at + 1));

export function appOf(agent: string): string {
  return agent.replace(/agent$/, 'app');
}
