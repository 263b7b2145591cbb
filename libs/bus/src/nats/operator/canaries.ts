import { setTimeout as delay } from 'node:timers/promises';
import {
  type Canary,
  canaryQueue,
  canarySchema,
  MeshError,
  meshTime,
  parse,
  subjects,
} from '@agentmesh/protocol';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { millis } from '@nats-io/nats-core';
import { decodeJson } from '../../messages/json.ts';
import { readBucket } from '../buckets/card-bucket.ts';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import { dropSubject, putQueues, type WorkStreamPlace } from '../work/work-subjects.ts';
import { readReplicas } from './read-replicas.ts';
import type { ReplicaStats } from './replica-stats.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** A canary with its replicas and those of other versions, and the runs in its queue. */
export interface ObservedCanary extends Canary {
  replicas: ReplicaStats[];
  /** Number of runs in the queue of the canary, those at work included. */
  queued: number;
}

/** The canaries of the agents of a mesh, for an operator. */
export interface Canaries extends AsyncDisposable {
  /** Lists the canaries, sorted by agent. */
  list(): Promise<ObservedCanary[]>;
  /**
   * Starts a canary, or changes its share or its version. Takes {@link spreadMs} longer at the start of one.
   *
   * @throws MeshError `not_found` for an agent without a queue of runs; `failed_precondition` when no replica takes from
   * the queue of the new canary, which is then removed, and while another version of the agent is its canary
   */
  put(canary: Omit<Canary, 'ending' | 'since'>): Promise<void>;
  /**
   * Ends a canary: nothing goes to its queue any more, all replicas empty the queue, and then it is removed. May be
   * repeated after a failure at any point.
   *
   * @param waitMs the longest wait for the last run in the queue, in ms
   * @throws MeshError `not_found` without a canary; `failed_precondition` while replicas of two versions are up, because
   * all of them would take runs; `unavailable` when the queue is not empty in time
   */
  end(agent: string, options: { waitMs: number }): Promise<void>;
}

/** Time in which all processes have read a record, in ms. */
const spreadMs = 1_000;
const lookAgainMs = 100;
/** The looks for replicas: one on a busy machine may answer too late for a look. */
const looks = 3;
/** Longest wait for a replica that takes from the queue of a new canary, in ms. */
const takenMs = 10_000;

/**
 * Opens the canaries of a mesh, as a user that may administer JetStream.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openCanaries(options: OperatorOptions): Promise<Canaries> {
  const names = subjects(options.namespace);
  const connection = await dial(
    options,
    'canaries',
    names.inboxPrefix('provision'),
    options.connectTimeoutMs,
  );
  const manager = await jetstreamManager(connection).catch(async (thrown: unknown) => {
    await connection.close();
    throw fromNats(thrown, 'open the canaries');
  });
  const place: WorkStreamPlace = { manager, names, kind: 'run' };
  const stream = names.workStream('run');
  const bucket = () => new Kvm(connection).open(names.cardBucket);

  async function read(): Promise<Canary[]> {
    const stored = [...(await readBucket(connection, names.cardBucket))];
    return stored
      .filter(([key]) => key.startsWith('canary.'))
      .map(([key, bytes]) => parse(canarySchema, decodeJson(bytes), `record ${key}`))
      .sort((a, b) => (a.agent < b.agent ? -1 : 1));
  }

  const find = async (agent: string) => (await read()).find((each) => each.agent === agent);

  async function write(canary: Canary): Promise<void> {
    await (await bucket()).put(names.canaryKey(canary.agent), JSON.stringify(canary));
  }

  /** Counts the stored runs for a canary, those at work included, whether or not its queue still exists. */
  async function count(agent: string): Promise<number> {
    const filter = names.workSubject('run', canaryQueue(agent));
    const { state } = await manager.streams.info(stream, { subjects_filter: filter });
    return Object.values(state.subjects ?? {}).reduce((sum, each) => sum + each, 0);
  }

  async function addQueue(agent: string): Promise<void> {
    const own = await consumerOf(manager, stream, names.workConsumer(agent));
    if (!own)
      throw new MeshError(
        'not_found',
        `agent ${agent} has no queue of runs; check the name, or provision it`,
      );
    await putQueues(place, [canaryQueue(agent)], millis(own.config.ack_wait ?? 0));
  }

  async function removeQueue(agent: string): Promise<void> {
    const name = names.workConsumer(canaryQueue(agent));
    if (await consumerOf(manager, stream, name)) await manager.consumers.delete(stream, name);
    await dropSubject(place, canaryQueue(agent));
  }

  async function remove(agent: string): Promise<void> {
    await removeQueue(agent);
    await (await bucket()).delete(names.canaryKey(agent));
  }

  /** Checks that a replica takes from the new queue: one without the rights, or of an earlier release, cannot. */
  async function assertTaken(agent: string): Promise<void> {
    const until = performance.now() + takenMs;
    while (performance.now() < until) {
      const queue = await consumerOf(manager, stream, names.workConsumer(canaryQueue(agent)));
      if (queue && queue.num_waiting > 0) return;
      await delay(lookAgainMs);
    }
    await remove(agent);
    throw new MeshError(
      'failed_precondition',
      `no replica of ${agent} takes runs from the queue of a canary; start one, of this release and with the rights of this release (agentmesh rights nats, accounts add), then try again`,
    );
  }

  async function untilEmpty(agent: string, until: number): Promise<void> {
    while ((await count(agent)) > 0) {
      if (performance.now() > until) {
        throw new MeshError(
          'unavailable',
          `the queue of the canary of ${agent} is not empty yet; start a replica if none is up, and end the canary again`,
        );
      }
      await delay(lookAgainMs);
    }
  }

  async function replicasInLooks(agent: string): Promise<ReplicaStats[]> {
    const found: ReplicaStats[] = [];
    for (let look = 0; look < looks; look += 1) found.push(...(await readReplicas(connection, names, agent)));
    return found;
  }

  return {
    list: () =>
      orFail('list the canaries', async () =>
        Promise.all(
          (await read()).map(async (canary) => ({
            ...canary,
            replicas: await readReplicas(connection, names, canary.agent),
            queued: await count(canary.agent),
          })),
        ),
      ),
    put: (given) =>
      orFail('write the canary', async () => {
        const found = await find(given.agent);
        // A further share goes on with the figures; a canary that was ended and begins again has none.
        const since = found?.since ?? meshTime();
        const canary = parse(canarySchema, { ...given, since }, `the canary of ${given.agent}`);
        if (found && (found.percent > 0 || (await count(canary.agent)) > 0)) assertSameVersion(found, canary);
        await addQueue(canary.agent);
        if (!found) {
          // A replica that knows of the canary looks into both queues for earlier runs of a session.
          await write({ ...canary, percent: 0 });
          await delay(spreadMs);
          await assertTaken(canary.agent);
        }
        await write(canary);
      }),
    end: (agent, { waitMs }) =>
      orFail('end the canary', async () => {
        const canary = await find(agent);
        if (!canary)
          throw new MeshError('not_found', `agent ${agent} has no canary; list them to see which there are`);
        assertOneVersion(canary, await replicasInLooks(agent));
        const until = performance.now() + waitMs;
        await addQueue(agent);
        await write({ ...canary, percent: 0, ending: true });
        await delay(spreadMs);
        do {
          await addQueue(agent);
          await untilEmpty(agent, until);
          await removeQueue(agent);
          // A process that did not know yet may have put a run there.
        } while ((await count(agent)) > 0);
        await remove(agent);
      }),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function orFail<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw fromNats(thrown, doing);
  }
}

async function consumerOf(manager: JetStreamManager, stream: string, name: string) {
  try {
    return await manager.consumers.info(stream, name);
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
}

/** Runs of the earlier canary may be in its queue, which only its version shall take. */
function assertSameVersion(found: Canary, { agent, version }: Pick<Canary, 'agent' | 'version'>): void {
  if (found.version === version) return;
  throw new MeshError(
    'failed_precondition',
    `version ${found.version} is the canary of ${agent} and gets the runs of ${found.percent} % of its sessions; end it first: canary end ${agent}`,
  );
}

function assertOneVersion({ agent, version }: Canary, replicas: readonly ReplicaStats[]): void {
  const versions = new Set(replicas.map((each) => each.version ?? 'unknown'));
  if (versions.size < 2) return;
  throw new MeshError(
    'failed_precondition',
    `replicas of ${agent} with the versions ${[...versions].sort().join(' and ')} are up, and all would take runs; stop those of ${version} to give it up, or the others to keep it`,
  );
}
