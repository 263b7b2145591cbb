import { type RunCount, sumRuns, type VersionRuns } from '@agentmesh/agent/internal';
import type { Canary } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';
import type { Tally } from './outcomes.ts';
import { appNames } from './root-agent.ts';
import { type ServedAgent, unknownVersion } from './served-agent.ts';

/** One version of an agent that has a canary. */
export interface VersionFigures extends Partial<VersionRuns> {
  version: string;
  /** The number of replicas that are up. */
  replicas: number;
}

/**
 * Counts a run that this process has ended for the figures of the agent's canary; nothing without a canary. No run
 * waits for it: a run that cannot be counted is missing in the figures alone.
 */
export function countCanaryRun(
  served: CountingAgent,
  app: string,
  { attempt, fields }: Pick<Tally, 'attempt' | 'fields'>,
  isFailed: boolean,
): void {
  // A delivery without an attempt did no work.
  if (attempt !== undefined) count(served, app, { isFailed, ms: fields().durationMs });
}

/** Counts an ask that this process has answered, as {@link countCanaryRun} does for a run. */
export function countCanaryAsk(
  served: CountingAgent,
  app: string = served.app ?? served.agent.name,
  { fields }: Pick<Tally, 'fields'>,
  isFailed: boolean,
): void {
  count(served, app, { isFailed, ms: fields().durationMs });
}

type CountingAgent = Pick<ServedAgent, 'mesh' | 'agent' | 'version' | 'app'>;

function count(
  { mesh: { bus, sessions, log }, agent, version = unknownVersion }: CountingAgent,
  app: string,
  ended: { isFailed: boolean; ms: number },
): void {
  const canary = bus.directory.canary(agent.name);
  if (!canary) return;
  sessions.overview
    .countRun({ app, agent: agent.name, since: canary.since }, { version, ...ended })
    .catch((error: unknown) => log.debug({ err: error }, 'the figures of the canary lack a run'));
}

/**
 * Returns the figures of each version of an agent since its canary began, also of versions whose replicas are gone;
 * sorted by version. Runs of replicas of earlier releases are not counted.
 *
 * @param replicas the replicas that are up
 * @throws MeshError `unavailable` when the store does not answer
 */
export async function canaryFigures(
  mesh: Mesh,
  canary: Canary,
  replicas: readonly { version?: string }[],
): Promise<VersionFigures[]> {
  const { agent, since } = canary;
  // An agent without an app works in the sessions of the apps that use it, and of its own name.
  const apps = [...new Set([...appNames(mesh), agent])];
  const counts = await Promise.all(
    apps.map((app) => mesh.sessions.overview.runCounts({ app, agent, since })),
  );
  return figuresOf(canary, replicas, counts.flat());
}

/** Returns the versions that are up, that of the canary, and those with runs. */
export function figuresOf(
  canary: Canary,
  replicas: readonly { version?: string }[],
  counts: readonly RunCount[] | undefined,
): VersionFigures[] {
  const runs = new Map(sumRuns(counts ?? []).map((each) => [each.version, each]));
  const up = Map.groupBy(replicas, ({ version }) => version ?? 'unknown');
  const versions = [...new Set([canary.version, ...up.keys(), ...runs.keys()])].sort();
  return versions.map((version) => ({
    replicas: up.get(version)?.length ?? 0,
    ...(counts ? (runs.get(version) ?? { version, runs: 0, failed: 0 }) : { version }),
  }));
}
