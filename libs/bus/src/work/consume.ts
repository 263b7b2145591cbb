import { MeshError } from '@agentmesh/protocol';
import { assertPositive } from '../bus/assert-positive.ts';
import type { BrokerLink, Delivery, OnError, WorkSource } from '../bus/broker-link.ts';
import type { ConsumeOptions, Message, Started, WorkItem, WorkOutcome } from '../bus/bus.ts';
import { startOnce, within } from '../bus/started.ts';
import type { Stats } from '../bus/stats.ts';
import type { Claims } from '../claims/claims.ts';
import { createMessage } from '../messages/create-message.ts';

export type WorkHandler = (item: WorkItem) => Promise<WorkOutcome>;

/** The options of a consumer with the name of its counters: the subject of the whole queue. */
type CountedOptions = ConsumeOptions & { countedAs: string };

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

/**
 * Works on a queue, with one item per slot. It asks only for items that have a free slot: no item waits in a
 * busy replica while another replica is idle. One request at a time asks for as many items as the replica has
 * in work, and for one at least: an idle replica, which may be dead, gets one item, and a busy one fills its
 * slots with few requests.
 */
export function consume(
  worker: Worker,
  source: WorkSource,
  handler: WorkHandler,
  { maxConcurrency, countedAs }: CountedOptions,
): Started {
  assertPositive('maxConcurrency', maxConcurrency);
  const handBack = new AbortController();
  const { closed } = worker.link;
  const unsettled = new Set<Promise<void>>();
  /** The items at work here, by their keys. */
  const atWork = new Map<string, Delivery>();
  let withdrawn: Promise<void> | undefined;
  let busy = 0;
  let onFree = () => {};

  function free() {
    busy -= 1;
    onFree();
  }

  function take(delivery: Delivery) {
    const { key } = delivery;
    // Delivered again because this process gave no sign of life: its event loop or its connection stood still. The
    // first delivery goes on, and its acknowledgement counts for both.
    if (atWork.has(key)) return;
    atWork.set(key, delivery);
    const leave = () => atWork.get(key) === delivery && atWork.delete(key);
    const item: Delivery = {
      ...delivery,
      nak(delayMs) {
        // It may come again at once.
        leave();
        delivery.nak(delayMs);
      },
    };
    busy += 1;
    const settled =
      withdrawn === undefined
        ? workOn(worker, source, item, handler, { countedAs, handBack: handBack.signal, free })
        : giveBack(item, withdrawn).finally(free);
    unsettled.add(settled);
    void settled.finally(() => {
      leave();
      unsettled.delete(settled);
    });
  }

  async function ask() {
    while (!withdrawn && !closed.aborted) {
      if (busy < maxConcurrency) await source.pull(Math.min(maxConcurrency - busy, Math.max(busy, 1)), take);
      else await new Promise<void>((resolve) => (onFree = resolve));
    }
  }

  const asking = ask();
  asking.catch((thrown) => worker.onError(thrown, 'consume'));
  const allSettled = async () => {
    onFree();
    await asking.catch(() => {});
    while (unsettled.size > 0) await Promise.all(unsettled);
  };
  return startOnce(async (graceMs) => {
    withdrawn = source.withdraw(graceMs);
    await within(graceMs, allSettled());
    await withdrawn;
    handBack.abort();
    await allSettled();
    await worker.link.flush();
  });
}

/** Returns an item that came while the worker stops. Returned earlier, it would come to this replica again. */
async function giveBack(delivery: Delivery, withdrawn: Promise<void>): Promise<void> {
  await withdrawn;
  delivery.nak(0);
}

interface Slot {
  /** The subject under which a finished item counts: messages of one queue have as many subjects as sessions. */
  countedAs: string;
  /** Aborted when the worker hands its items back. */
  handBack: AbortSignal;
  /** Called once, when the handler is done: the acknowledgement does not need the slot. */
  free(): void;
}

/** Works on an item. Resolves when the queue knows the outcome. Never rejects. */
async function workOn(
  { claims, stats, onError }: Worker,
  source: WorkSource,
  delivery: Delivery,
  handler: WorkHandler,
  { countedAs, handBack, free }: Slot,
): Promise<void> {
  const { attempt, key, place, subject } = delivery;
  const count = stats.start(countedAs);
  const alive = setInterval(() => delivery.working(), Math.max(1, source.ackWaitMs / 3));
  let failure: unknown;
  let isDone = false;
  try {
    const outcome = await (async () => {
      const item: WorkItem = { ...(await wholeMessage(claims, delivery)), attempt, key, place };
      return await unlessHandedBack(handler, item, handBack);
    })().finally(free);
    isDone = outcome.done;
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
    // An item that waits, or that goes to another replica, is no work of this one.
    if (isDone || failure !== undefined) count(failure);
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
