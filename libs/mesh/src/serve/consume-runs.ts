import type { Started, WorkItem, WorkOutcome } from '@agentmesh/bus';
import { type Canary, canaryQueue, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { bothLooks, slowlyLowered, wantedWeight } from './weigh-asks.ts';

/** Average time between two looks for the versions that are up, while an agent has a canary, in ms. */
const lookMs = 1_000;
/** Time for the work in hand of a queue that this replica leaves to another version, in ms. */
const leaveMs = 25_000;

export interface RunConsumer {
  agent: string;
  version: string;
  /** Number of runs that the replica takes from one queue at once. */
  slots: number;
  /** Changes the replica's part of the asks. */
  setWeight(weight: number): Promise<void>;
}

/**
 * Takes the runs of an agent: from its queue, and while the agent has a canary from the queue of this replica's
 * version. When no replica of the other version is up, it takes from both, so no run waits for a version that is gone.
 * The same looks decide the replica's part of the asks.
 *
 * @throws MeshError `failed_precondition` when the queue was not provisioned
 */
export async function consumeRuns(
  { bus, subjects, log }: Pick<Mesh, 'bus' | 'subjects' | 'log'>,
  { agent, version, slots, setWeight }: RunConsumer,
  handler: (item: WorkItem) => Promise<WorkOutcome>,
): Promise<Started> {
  const consumers = new Map<string, Started>();
  const leaving = new Set<Promise<void>>();
  /** The versions that answered at the last look. A replica on a busy machine may miss one look. */
  let answered: ReadonlyMap<string, number> = new Map();
  const asks = slowlyLowered(setWeight);
  let seen = bus.directory.canary(agent);
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function leave(queue: string) {
    const left = consumers.get(queue)?.stop({ graceMs: leaveMs });
    consumers.delete(queue);
    if (!left) return;
    leaving.add(left);
    void left.finally(() => leaving.delete(left));
  }

  async function take(queue: string): Promise<void> {
    if (isStopped || consumers.has(queue)) return;
    consumers.set(queue, await bus.consumeRuns(queue, handler, { slots }));
    log.info({ agent, version, queue }, 'takes runs from a queue');
  }

  async function adjust(): Promise<void> {
    const before = answered;
    if (seen && !seen.ending) answered = await bus.versionsOf(subjects.shownAs(agent));
    const up = bothLooks(before, answered);
    const wanted = wantedQueues(seen, version, new Set(up.keys()));
    await asks.set(wantedWeight(seen, version, up));
    // The new queue comes first: this replica takes from some queue at any time.
    if (wanted.canary) {
      await take(canaryQueue(agent)).catch((error) => {
        log.warn({ err: MeshError.from(error), agent }, 'takes no runs of the canary');
        wanted.own = true;
      });
    }
    if (wanted.own) await take(agent);
    if (!wanted.canary) leave(canaryQueue(agent));
    if (!wanted.own) leave(agent);
  }

  function schedule() {
    clearTimeout(timer);
    if ((!seen && asks.isSettled()) || isStopped) return;
    timer = setTimeout(adjustAgain, lookMs * (0.5 + Math.random()));
    timer.unref();
  }

  function adjustAgain() {
    adjusting = adjusting
      .then(adjust)
      .catch((error) =>
        log.warn({ err: MeshError.from(error), agent }, 'could not change the queues of runs'),
      )
      .finally(schedule);
  }

  let adjusting = adjust();
  await adjusting;
  schedule();
  const unwatch = bus.directory.watch(() => {
    const canary = bus.directory.canary(agent);
    if (canary === seen || isStopped) return;
    seen = canary;
    adjustAgain();
  });
  const stopConsumers = (graceMs: number | undefined) =>
    Promise.all(
      [...consumers.values()].map((each) => each.stop({ ...(graceMs !== undefined && { graceMs }) })),
    );
  return {
    async stop({ graceMs } = {}) {
      isStopped = true;
      unwatch();
      clearTimeout(timer);
      await Promise.all([stopConsumers(graceMs), ...leaving]);
      // A consumer may have been started meanwhile.
      await adjusting;
      await stopConsumers(graceMs);
    },
  };
}

/**
 * Returns the queues from which a replica takes runs: the queue of the agent, and that of its canary.
 *
 * @param up the versions of the replicas that are up
 */
export function wantedQueues(
  canary: Canary | undefined,
  version: string,
  up: ReadonlySet<string>,
): { own: boolean; canary: boolean } {
  if (!canary) return { own: true, canary: false };
  if (canary.ending) return { own: true, canary: true };
  const { percent, pinned } = canary;
  const isCanary = version === canary.version;
  const isAlone = ![...up].some((each) => (each === canary.version) !== isCanary);
  return isCanary
    ? { own: isAlone || (percent === 100 && !pinned), canary: isAlone || percent > 0 }
    : { own: true, canary: isAlone || percent === 0 };
}
