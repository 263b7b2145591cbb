/** The canary whose runs are counted: of this agent, in this app. */
export interface CountedCanary {
  app: string;
  agent: string;
  /** The time at which the canary began, epoch ms: the runs of an earlier canary are counted apart. */
  since: number;
}

/** A run that has ended. */
export interface EndedRun {
  /** The version of the agent that ended it. */
  version: string;
  isFailed: boolean;
  /** Its time in the process that ended it, in ms. */
  ms: number;
}

/** A number of runs of one version, with one kind of end, that took about the same time. */
export interface RunCount extends Omit<EndedRun, 'ms'> {
  count: number;
  /** The longest time that any of these runs took, in ms; at most 19 % above the time of each. */
  withinMs: number;
}

/** The runs of one version of an agent. */
export interface VersionRuns {
  version: string;
  runs: number;
  /** The number of these runs that failed. */
  failed: number;
  /** The times within which a half, and 95 %, of the runs ended, in ms; exact to 19 %. */
  p50Ms: number;
  p95Ms: number;
}

/** The number of kept times between one time and its double. */
const stepsPerDouble = 4;

/** Returns the name under which a run is counted: one number is raised for each run. */
export function countNameOf({ version, isFailed, ms }: EndedRun): string {
  const step = Math.ceil(stepsPerDouble * Math.log2(Math.max(1, ms)));
  return `${version} ${isFailed ? 'failed' : 'completed'} ${step}`;
}

/** Reads a count from its name. */
export function readCount(name: string, count: number): RunCount {
  const [version = '', end, step] = name.split(' ');
  const withinMs = Math.round(2 ** (Number(step) / stepsPerDouble));
  return { version, isFailed: end === 'failed', withinMs, count };
}

/** Sums counts up, for each version; sorted by version. */
export function sumRuns(counts: readonly RunCount[]): VersionRuns[] {
  const versions = Map.groupBy(counts, ({ version }) => version);
  return [...versions]
    .map(([version, ofVersion]) => ({
      version,
      runs: total(ofVersion),
      failed: total(ofVersion.filter(({ isFailed }) => isFailed)),
      p50Ms: within(ofVersion, 0.5),
      p95Ms: within(ofVersion, 0.95),
    }))
    .sort((a, b) => (a.version < b.version ? -1 : 1));
}

const total = (counts: readonly RunCount[]) => counts.reduce((sum, { count }) => sum + count, 0);

/** Returns the time within which a share of the runs ended, in ms. */
function within(counts: readonly RunCount[], share: number): number {
  const wanted = share * total(counts);
  let ended = 0;
  for (const { count, withinMs } of counts.toSorted((a, b) => a.withinMs - b.withinMs)) {
    ended += count;
    if (ended >= wanted) return withinMs;
  }
  return 0;
}
