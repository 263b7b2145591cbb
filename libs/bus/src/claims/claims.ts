import { type ClaimKind, header, MeshError, maxPayloadBytes, type Subjects } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { heartbeatMs } from '../bus/bus.ts';
import { pause } from '../bus/pause.ts';
import { fits } from '../messages/message-size.ts';
import { createByteBudget } from './byte-budget.ts';
import { openPayload, sealedLength, sealPayload } from './seal.ts';

/**
 * Payloads that are too large for a message of the broker ("claim check" in the Enterprise Integration
 * Patterns). The payload lies encrypted in a bucket. A message without a payload refers to it and has the key,
 * so that only those who get the message can read the payload. The object is written before the message; after
 * a crash between the two, an operator's sweep removes the object, or the bucket's time to live.
 */
export interface Claims {
  /**
   * Returns a packet that can be sent: the same packet when it is small enough.
   *
   * @throws MeshError `invalid_argument` over {@link maxPayloadBytes}
   */
  shrink(packet: Packet, kind: ClaimKind): Promise<Packet>;
  /**
   * Returns the packet as it was before {@link Claims.shrink}. Calls `onChunk` for each piece of the payload.
   *
   * @throws MeshError `failed_precondition` when the payload was deleted
   */
  restore<P extends Packet>(packet: P, onChunk?: () => void): Promise<P>;
  /**
   * Waits until the budget has room for the payload of a packet; called before {@link Claims.restore}.
   * Returns a function that gives the room back. A packet without a claim does not wait.
   *
   * @throws MeshError `resource_exhausted` when there is no room for too long, `invalid_argument` for a claim
   * that cannot be read, or the reason of the signal
   */
  hold(packet: Packet, use: keyof typeof budgets, signal?: AbortSignal): Promise<() => void>;
  /**
   * Removes the payload of a packet from its bucket, once nobody needs the payload any more. Returns at once,
   * and never throws.
   */
  drop(packet: Packet): void;
  /** Waits for the removals that have begun. */
  flush(): Promise<void>;
}

/**
 * The bytes of large payloads that a connection holds at once: payloads that arrive, and payloads of requests
 * until they are answered. There are two budgets, because the handler of a request may itself wait for an
 * answer that arrives.
 */
const budgets = { arriving: 64 * 1024 * 1024, answering: 64 * 1024 * 1024 };

/** The time after which a failed removal is tried again, in ms. */
const againMs = 1_000;

/** Tells whether the payload of a packet lies in a bucket. */
export function isClaim({ headers }: Packet): boolean {
  return headers[header.claim] !== undefined;
}

export function createClaims(link: BrokerLink, subjects: Subjects): Claims {
  const held = {
    arriving: createByteBudget(budgets.arriving),
    answering: createByteBudget(budgets.answering),
  };
  const bucketOf = (kind: ClaimKind) => link.objects(subjects.claimBucket(kind), true);
  const removals = new Set<Promise<void>>();
  /** False once the broker has refused a removal: behind accounts no service may remove payloads, which expire. */
  let mayRemove = true;

  /**
   * Removes an object, also after a long outage of the broker. If it cannot be removed, an operator's sweep
   * removes it, or the bucket's time to live.
   */
  async function remove(kind: ClaimKind, id: string) {
    while (!link.closed.aborted && mayRemove) {
      try {
        await bucketOf(kind).delete(id);
        return;
      } catch (thrown) {
        const { code, retryable } = MeshError.from(thrown);
        if (code === 'permission_denied') mayRemove = false;
        if (!retryable) return;
        await pause(againMs, link.closed);
      }
    }
  }

  return {
    async shrink(packet, kind) {
      if (fits(packet, link.maxPayload)) return packet;
      const { bytes, headers } = packet;
      if (bytes.length > maxPayloadBytes) throw tooLarge(bytes.length);
      const sealed = sealPayload(bytes);
      const { id } = await bucketOf(kind).put(sealed.bytes);
      const claim = `${kind}.${id}.${bytes.length}.${sealed.key}`;
      return { ...packet, bytes: new Uint8Array(), headers: { ...headers, [header.claim]: claim } };
    },

    async restore(packet, onChunk = () => {}) {
      if (!isClaim(packet)) return packet;
      const { kind, id, size, key } = readClaim(packet);
      const object = await bucketOf(kind).open(id);
      if (!object || object.size !== sealedLength(size)) {
        await object?.bytes.cancel();
        throw new MeshError(
          'failed_precondition',
          `the payload of a message on ${packet.subject}, ${size} bytes, is not there any more; send the message again`,
        );
      }
      const bytes = await openPayload(object.bytes, size, key, onChunk).catch((cause: unknown) => {
        if (cause instanceof MeshError) throw cause;
        throw new MeshError(
          'failed_precondition',
          `the payload of a message on ${packet.subject} was changed; send the message again`,
          { cause },
        );
      });
      const { [header.claim]: _claim, ...headers } = packet.headers;
      return { ...packet, bytes, headers };
    },

    async hold(packet, use, signal) {
      return isClaim(packet) ? await held[use].take(readClaim(packet).size, signal) : () => {};
    },

    drop(packet) {
      const [, kind, id] = claimPattern.exec(packet.headers[header.claim] ?? '') ?? [];
      if ((kind !== 'news' && kind !== 'work') || id === undefined) return;
      const removal = remove(kind, id).finally(() => removals.delete(removal));
      removals.add(removal);
    },

    async flush() {
      await Promise.all(removals);
    },
  };
}

/** The kind of the claim, the id of its object, the length of its payload in bytes, and the key. */
const claimPattern = /^(news|work)\.([\w-]{1,64})\.(\d{1,15})\.([\w-]{43})$/;

/**
 * Reads a claim.
 *
 * @throws MeshError `invalid_argument` unless it names an object in one of our own buckets, within the size
 * limit
 */
function readClaim({ headers }: Packet): { kind: ClaimKind; id: string; size: number; key: string } {
  const [, kind, id, size, key] = claimPattern.exec(headers[header.claim] ?? '') ?? [];
  if ((kind === 'news' || kind === 'work') && id !== undefined && key !== undefined) {
    if (Number(size) > maxPayloadBytes) throw tooLarge(Number(size));
    return { kind, id, size: Number(size), key };
  }
  throw new MeshError('invalid_argument', `the header ${header.claim} of a message names no payload`);
}

function tooLarge(size: number): MeshError {
  return new MeshError(
    'invalid_argument',
    `a message of ${size} bytes is over the limit of ${maxPayloadBytes}; save it as an artifact and send its name`,
  );
}

/** Returns a function that sends the packets of one subject in order, although large packets take longer. */
export function inOrderOfSending(
  link: BrokerLink,
): (packet: Packet, send: () => Promise<void>) => Promise<void> {
  const waiting = new Map<string, Promise<void>>();
  return async (packet, send) => {
    const { subject } = packet;
    const before = waiting.get(subject);
    if (!before && fits(packet, link.maxPayload)) {
      await send();
      return;
    }
    const sending = (before ?? Promise.resolve()).then(send);
    keepLast(waiting, subject, sending);
    await sending;
  };
}

/** The receiver of a packet. `fail` is called instead of `deliver` when the payload cannot be read. */
export interface Arrival {
  deliver(packet: Packet): void;
  fail(error: MeshError): void;
  /**
   * Called at once, for each piece of a payload, and regularly while the packet waits for packets before it.
   */
  onAlive?(): void;
}

/**
 * Returns a function that passes the packets of one subject on in order: at once, unless the payload of this
 * packet or of an earlier packet has to be read from a bucket.
 */
export function inOrderOfArrival(claims: Claims): (packet: Packet, arrival: Arrival) => void {
  const waiting = new Map<string, Promise<void>>();
  return (packet, { deliver, fail, onAlive = () => {} }) => {
    onAlive();
    const before = waiting.get(packet.subject);
    if (!before && !isClaim(packet)) {
      deliver(packet);
      return;
    }
    const restoring = (before ?? Promise.resolve()).then(async () => {
      // A packet that waits for room in the budget is a sign of life of its sender.
      const alive = setInterval(onAlive, heartbeatMs);
      let letGo = () => {};
      try {
        letGo = await claims.hold(packet, 'arriving');
        deliver(await claims.restore(packet, onAlive));
      } catch (thrown) {
        fail(MeshError.from(thrown));
      } finally {
        letGo();
        clearInterval(alive);
      }
    });
    keepLast(waiting, packet.subject, restoring);
  };
}

/** Notes the work on the last packet of a subject, for which the next packet waits. */
function keepLast(waiting: Map<string, Promise<void>>, subject: string, work: Promise<void>): void {
  const over: Promise<void> = work
    .catch(() => {})
    .then(() => {
      if (waiting.get(subject) === over) waiting.delete(subject);
    });
  waiting.set(subject, over);
}
