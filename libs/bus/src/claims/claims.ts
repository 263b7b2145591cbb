import { type ClaimKind, header, MeshError, maxPayloadBytes, type Subjects } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { heartbeatMs } from '../bus/bus.ts';
import { fits } from '../messages/message-size.ts';
import { createByteBudget } from './byte-budget.ts';

/**
 * Payloads that are too large for a message of the broker (claim check, as the Enterprise Integration Patterns call it): they lie in a bucket, and a message
 * without a payload says where. First the object, then the message; of a crash between the bucket's time to live takes care.
 */
export interface Claims {
  /**
   * A packet as it can be sent: itself when it is small enough.
   *
   * @throws MeshError `invalid_argument` over {@link maxPayloadBytes}
   */
  shrink(packet: Packet, kind: ClaimKind): Promise<Packet>;
  /**
   * A packet as it was before {@link Claims.shrink}. `onChunk` is called for each piece that has come.
   *
   * @throws MeshError `failed_precondition` when the payload has gone
   */
  restore<P extends Packet>(packet: P, onChunk?: () => void): Promise<P>;
  /**
   * Waits until the payload of a packet may be held: to be asked before {@link Claims.restore}. Returns how to let go of it. What is small needs not wait.
   *
   * @throws MeshError `resource_exhausted` when too much is held for too long, `invalid_argument` for a claim that is none, or what the signal was aborted with
   */
  hold(packet: Packet, use: keyof typeof budgets, signal?: AbortSignal): Promise<() => void>;
  /** Removes the payload of a packet that was sent small, when nobody needs it any more. Returns at once, and never throws. */
  drop(packet: Packet): void;
}

/**
 * How many bytes of large payloads a connection holds at once: those that are on their way in, and those of requests until they are answered. They have
 * budgets of their own: who answers a request may wait for an answer itself.
 */
const budgets = { arriving: 64 * 1024 * 1024, answering: 64 * 1024 * 1024 };

function isClaim({ headers }: Packet): boolean {
  return headers[header.claim] !== undefined;
}

export function createClaims(link: BrokerLink, subjects: Subjects): Claims {
  const held = {
    arriving: createByteBudget(budgets.arriving),
    answering: createByteBudget(budgets.answering),
  };
  const bucketOf = (kind: ClaimKind) => link.objects(subjects.claimBucket(kind));
  return {
    async shrink(packet, kind) {
      if (fits(packet, link.maxPayload)) return packet;
      const { bytes, headers } = packet;
      if (bytes.length > maxPayloadBytes) throw tooLarge(bytes.length);
      const { id } = await bucketOf(kind).put(once(bytes));
      const claim = `${kind}.${id}.${bytes.length}`;
      return { ...packet, bytes: new Uint8Array(), headers: { ...headers, [header.claim]: claim } };
    },

    async restore(packet, onChunk = () => {}) {
      if (!isClaim(packet)) return packet;
      const { kind, id, size } = readClaim(packet);
      const object = await bucketOf(kind).open(id);
      if (!object || object.size !== size) {
        await object?.bytes.cancel();
        throw new MeshError(
          'failed_precondition',
          `the payload of a message on ${packet.subject}, ${size} bytes, is not there any more; send it again`,
        );
      }
      const bytes = new Uint8Array(size);
      let at = 0;
      for await (const chunk of object.bytes) {
        bytes.set(chunk, at);
        at += chunk.length;
        onChunk();
      }
      const { [header.claim]: _claim, ...headers } = packet.headers;
      return { ...packet, bytes, headers };
    },

    async hold(packet, use, signal) {
      return isClaim(packet) ? await held[use].take(readClaim(packet).size, signal) : () => {};
    },

    drop(packet) {
      const [, kind, id] = claimPattern.exec(packet.headers[header.claim] ?? '') ?? [];
      if ((kind !== 'news' && kind !== 'work') || id === undefined) return;
      // What stays then goes with the time to live.
      bucketOf(kind)
        .delete(id)
        .catch(() => {});
    },
  };
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

const claimPattern = /^(news|work)\.([\w-]{1,64})\.(\d{1,15})$/;

/** @throws MeshError `invalid_argument`: a claim names nothing but an object of our own buckets, and not too large a one */
function readClaim({ headers }: Packet): { kind: ClaimKind; id: string; size: number } {
  const [, kind, id, size] = claimPattern.exec(headers[header.claim] ?? '') ?? [];
  if ((kind === 'news' || kind === 'work') && id !== undefined) {
    if (Number(size) > maxPayloadBytes) throw tooLarge(Number(size));
    return { kind, id, size: Number(size) };
  }
  throw new MeshError('invalid_argument', `the header ${header.claim} of a message names no payload`);
}

function tooLarge(size: number): MeshError {
  return new MeshError(
    'invalid_argument',
    `a message of ${size} bytes is over the limit of ${maxPayloadBytes}; save it as an artifact and send its name`,
  );
}

/** What is sent on one subject goes out in order, though what is large takes longer. */
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
    const sent = (before ?? Promise.resolve()).then(send);
    keepLast(waiting, subject, sent);
    await sent;
  };
}

/** How a packet is passed on, and what becomes of it when its payload cannot be had. */
export interface Arrival {
  deliver(packet: Packet): void;
  fail(error: MeshError): void;
  /** Called at once, and for each piece of a payload that comes. */
  heard?(): void;
}

/** What comes on one subject is passed on in order: at once, unless it or one before it lies elsewhere. */
export function inOrderOfArrival(claims: Claims): (packet: Packet, arrival: Arrival) => void {
  const waiting = new Map<string, Promise<void>>();
  return (packet, { deliver, fail, heard = () => {} }) => {
    heard();
    const before = waiting.get(packet.subject);
    if (!before && !isClaim(packet)) {
      deliver(packet);
      return;
    }
    const restored = (before ?? Promise.resolve()).then(async () => {
      // Who waits for its turn lives.
      const alive = setInterval(heard, heartbeatMs);
      let letGo = () => {};
      try {
        letGo = await claims.hold(packet, 'arriving');
        deliver(await claims.restore(packet, heard));
      } catch (thrown) {
        fail(MeshError.from(thrown));
      } finally {
        letGo();
        clearInterval(alive);
      }
    });
    keepLast(waiting, packet.subject, restored);
  };
}

/** Whoever comes next on a subject waits for what is in hand there. */
function keepLast(waiting: Map<string, Promise<void>>, subject: string, inHand: Promise<void>): void {
  const over: Promise<void> = inHand
    .catch(() => {})
    .then(() => {
      if (waiting.get(subject) === over) waiting.delete(subject);
    });
  waiting.set(subject, over);
}
