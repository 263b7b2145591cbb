import { MeshError } from '@agentmesh/protocol';
import { assertPositive } from '../bus/assert-positive.ts';
import type { BrokerLink, Delivery, OnError, WorkSource } from '../bus/broker-link.ts';
import type { ConsumeOptions, Message, Started, WorkItem, WorkOutcome } from '../bus/bus.ts';
import { startOnce, within } from '../bus/started.ts';
import type { Stats } from '../bus/stats.ts';
import type { Claims } from '../claims/claims.ts';
import { createMessage } from '../messages/create-message.ts';

export type WorkHandler = (item: WorkItem) => Promise<WorkOutcome>;

export interface Worker {
  link: BrokerLink;
  claims: Claims;
  stats: Stats;
  onError: OnError;
}

/** Delay of an item whose handler threw, in ms: not at once, or a broken item would spin. */
const afterThrowMs = 1_000;
/** So often an item comes until its payload, which is not there, is taken to have gone for good. */
const triesAtPayload = 3;

/**
 * Works on a queue with a loop per slot, each of which asks for one item at a time: nothing is ever taken that no slot
 * is free for, so that nothing lies waiting in a replica while another is idle. The slots ask one after the other: an idle
 * replica costs the server one open request, however many slots it has.
 */
export function consume(
  worker: Worker,
  source: WorkSource,
  handler: WorkHandler,
  { slots }: ConsumeOptions,
): Started {
  assertPositive('slots', slots);
  const handBack = Promise.withResolvers<WorkOutcome>();
  const { closed } = worker.link;
  let withdrawn: Promise<void> | undefined;
  let asking: Promise<unknown> = Promise.resolve();

  function pullInTurn() {
    const pulled = asking.then(() => source.pull());
    asking = pulled.catch(() => {});
    return pulled;
  }

  async function slot() {
    while (!withdrawn && !closed.aborted) {
      const delivery = await pullInTurn();
      if (!delivery) continue;
      if (!withdrawn) {
        await workOn(worker, source, delivery, handler, handBack.promise);
        continue;
      }
      // Not before: it would come back to another pull of ours.
      await withdrawn;
      delivery.nak(0);
    }
  }

  const loops = Promise.all(Array.from({ length: slots }, slot));
  loops.catch((thrown) => worker.onError(thrown, 'consume'));
  return startOnce(async (graceMs) => {
    withdrawn = source.withdraw(graceMs);
    await within(graceMs, loops);
    await withdrawn;
    handBack.resolve({ done: false, delayMs: 0 });
    await loops.catch(() => {});
    await worker.link.flush();
  });
}

async function workOn(
  { claims, stats, onError }: Worker,
  source: WorkSource,
  delivery: Delivery,
  handler: WorkHandler,
  handBack: Promise<WorkOutcome>,
): Promise<void> {
  const { attempt, key, subject } = delivery;
  const counted = stats.start(subject);
  const alive = setInterval(() => delivery.working(), Math.max(1, source.ackWaitMs / 3));
  let failure: unknown;
  try {
    const item: WorkItem = { ...(await wholeMessage(claims, delivery)), attempt, key };
    // `async`: a handler that throws before its first await is one that throws, too.
    const outcome = await Promise.race([(async () => handler(item))(), handBack]);
    if (outcome.done) {
      await delivery.ack();
      claims.drop(delivery);
    }
    if ('delayMs' in outcome) delivery.nak(outcome.delayMs);
  } catch (thrown) {
    failure = thrown;
    onError(thrown, `consume ${subject}`);
    delivery.nak(afterThrowMs);
  } finally {
    clearInterval(alive);
    counted(failure);
  }
}

/** With its payload, wherever that lies. One whose payload has gone is a message that cannot be read, to be put away by its handler. */
async function wholeMessage(claims: Claims, delivery: Delivery): Promise<Message> {
  let letGo = () => {};
  try {
    letGo = await claims.hold(delivery, 'arriving');
    return createMessage(await claims.restore(delivery));
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // Another replica may have done it and removed the payload; then it does not come again.
    if (error.retryable || delivery.attempt < triesAtPayload) throw error;
    return {
      ...createMessage(delivery),
      json() {
        throw error;
      },
    };
  } finally {
    letGo();
  }
}
