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

/**
 * The delay of an item whose handler threw, in ms. Without a delay a broken item would come again and again
 * at full speed.
 */
const afterThrowMs = 1_000;
/** The number of deliveries of an item without its payload after which the payload counts as lost. */
const triesAtPayload = 3;
/** The time within which an item comes that was in the queue when a slot asked for it, in ms. */
const readyMs = 50;

/**
 * Works on a queue with one loop per slot. Each loop asks for one item at a time, and only when its slot is
 * free: no item waits in a busy replica while another replica is idle. The slots ask one after the other: an
 * idle replica costs the server one open request, however many slots it has. While items wait in the queue, all
 * free slots ask at the same time: a queue of thousands of runs that only go on waiting elsewhere is read fast.
 */
export function consume(
  worker: Worker,
  source: WorkSource,
  handler: WorkHandler,
  { slots }: ConsumeOptions,
): Started {
  assertPositive('slots', slots);
  const handBack = new AbortController();
  const { closed } = worker.link;
  let withdrawn: Promise<void> | undefined;
  let asking: Promise<unknown> = Promise.resolve();
  let hasItems = false;

  async function pull() {
    const askedAt = performance.now();
    const delivery = await source.pull();
    hasItems = delivery !== undefined && performance.now() - askedAt < readyMs;
    return delivery;
  }

  function pullInTurn() {
    if (hasItems) return pull();
    const pulling = asking.then(pull);
    asking = pulling.catch(() => {});
    return pulling;
  }

  async function slot() {
    while (!withdrawn && !closed.aborted) {
      const delivery = await pullInTurn();
      if (!delivery) continue;
      if (!withdrawn) {
        await workOn(worker, source, delivery, handler, handBack.signal);
        continue;
      }
      // Returned before the end of the withdrawal, the item would go to another pull of this replica.
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
    handBack.abort();
    await loops.catch(() => {});
    await worker.link.flush();
  });
}

async function workOn(
  { claims, stats, onError }: Worker,
  source: WorkSource,
  delivery: Delivery,
  handler: WorkHandler,
  handBack: AbortSignal,
): Promise<void> {
  const { attempt, key, place, subject } = delivery;
  const count = stats.start(subject);
  const alive = setInterval(() => delivery.working(), Math.max(1, source.ackWaitMs / 3));
  let failure: unknown;
  try {
    const item: WorkItem = { ...(await wholeMessage(claims, delivery)), attempt, key, place };
    const outcome = await unlessHandedBack(handler, item, handBack);
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
    count(failure);
  }
}

/**
 * Calls the handler. Once the worker hands its items back, the item goes to another replica, and the outcome of
 * the handler does not count.
 */
async function unlessHandedBack(
  handler: WorkHandler,
  item: WorkItem,
  handBack: AbortSignal,
): Promise<WorkOutcome> {
  const handedBack = Promise.withResolvers<WorkOutcome>();
  const onHandBack = () => handedBack.resolve({ done: false, delayMs: 0 });
  handBack.addEventListener('abort', onHandBack);
  if (handBack.aborted) onHandBack();
  try {
    // `async` turns an exception before the handler's first await into a rejection.
    return await Promise.race([(async () => handler(item))(), handedBack.promise]);
  } finally {
    // One promise for all items would keep something of each.
    handBack.removeEventListener('abort', onHandBack);
  }
}

/**
 * Returns the message with its payload, from the bucket if need be. For a lost payload it returns a message
 * whose `json` throws, so that the handler makes it a dead letter.
 */
async function wholeMessage(claims: Claims, delivery: Delivery): Promise<Message> {
  let letGo = () => {};
  try {
    letGo = await claims.hold(delivery, 'arriving');
    return createMessage(await claims.restore(delivery));
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // Another replica may have done the work and removed the payload; then the queue does not deliver the
    // item again.
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
