import {
  aloneHeader,
  cardSchema,
  header,
  MeshError,
  parse,
  type QueueName,
  type StoredCard,
  type Subjects,
} from '@agentmesh/protocol';
import type { BrokerLink, OnError, Packet } from '../bus/broker-link.ts';
import {
  type Bus,
  type ConsumeOptions,
  heartbeatMs as defaultHeartbeatMs,
  type Message,
  type Started,
  type SubscribeOptions,
} from '../bus/bus.ts';
import { startOnce, within } from '../bus/started.ts';
import { createStats } from '../bus/stats.ts';
import { whenConnected } from '../bus/when-connected.ts';
import { type Claims, createClaims, inOrderOfArrival, inOrderOfSending, isClaim } from '../claims/claims.ts';
import { findHolder, isServed, register, settlingMs } from '../discovery/register-service.ts';
import { createMessage } from '../messages/create-message.ts';
import { encodeJson } from '../messages/json.ts';
import { givenHeaders } from '../messages/message-headers.ts';
import { assertSubject } from '../messages/subject.ts';
import { createInbox } from '../requests/inbox.ts';
import { request } from '../requests/request.ts';
import { serve } from '../requests/serve.ts';
import { consume, type WorkHandler } from '../work/consume.ts';
import { earlierRuns } from '../work/earlier-runs.ts';
import { createGhostReader } from '../work/ghost-runs.ts';

/** The longest time for which a bus that closes waits for the removal of large payloads, in ms. */
const removalMs = 1_000;

/** The longest time for which a bus that closes waits for what it still runs, in ms: a silent broker confirms no end. */
const stopMs = 5_000;

export interface BusParts {
  link: BrokerLink;
  service: string;
  replica: string;
  subjects: Subjects;
  directory: Bus['directory'];
  onError: OnError;
  /** The interval of heartbeats, in ms; default one second. */
  heartbeatMs?: number | undefined;
  /** Tells whether connections can be lost and made again; default true. */
  reconnects?: boolean;
}

/** Builds a bus on a link: the part that NATS and memory share. */
export function createBus(parts: BusParts): Bus {
  const { link, service, replica, subjects, directory, onError } = parts;
  const { heartbeatMs = defaultHeartbeatMs, reconnects = true } = parts;
  const stats = createStats();
  const claims = createClaims(link, subjects);
  const sendInOrder = inOrderOfSending(link);
  const inbox = createInbox(link, claims);
  const running = new Set<Started>();
  const shared = { link, claims, replica, heartbeatMs, stats, onError };
  let disposed: Promise<void> | undefined;
  let connectedAt = performance.now();
  link.onConnected(() => {
    connectedAt = performance.now();
  });

  /** Notes what was started, so that closing the bus stops it. */
  async function keep(starting: Promise<Started>): Promise<Started> {
    const started = await starting;
    running.add(started);
    return startOnce(async (graceMs) => {
      await started.stop({ graceMs });
      running.delete(started);
    });
  }

  async function work(queue: QueueName, handler: WorkHandler, options: ConsumeOptions): Promise<Started> {
    await whenConnected(link);
    const source = await link.openWork(queue);
    const countedAs = subjects.workSubject(queue.kind, queue.name);
    return keep(Promise.resolve(consume(shared, source, handler, { ...options, countedAs })));
  }

  async function dispose() {
    await within(stopMs, Promise.all([...running].map((started) => started.stop({ graceMs: 0 }))));
    if (link.connected) await within(removalMs, claims.flush());
    await link.close();
  }

  return {
    service,
    replica,
    directory,
    status: () => ({ connected: link.connected && !link.closed.aborted }),

    async publish(subject, payload, options) {
      const packet = {
        subject: assertSubject(subject),
        headers: givenHeaders(options?.headers),
        bytes: encodeJson(payload),
      };
      await sendInOrder(packet, async () => {
        await whenConnected(link);
        link.send(await claims.shrink(packet, 'news'));
      });
    },

    subscribe: (subject, onMessage, options) => keep(subscribe(shared, subject, onMessage, options)),
    request: (subject, payload, options) =>
      request({ link, claims, inbox, service, replica }, subject, payload, options),

    async serve(subject, handler, options) {
      await whenConnected(link);
      return keep(serve(shared, subject, handler, options));
    },

    async enqueue(subject, payload, { messageId, headers, saysWhenAlone = false }) {
      const packet = {
        subject: assertSubject(subject),
        headers: {
          ...givenHeaders(headers),
          [header.messageId]: messageId,
          [header.replica]: replica,
          ...(saysWhenAlone && { [aloneHeader]: '0' }),
        },
        bytes: encodeJson(payload),
      };
      await whenConnected(link);
      const small = await claims.shrink(packet, 'work');
      const { duplicate, isSure } = await link.enqueue(small).catch((thrown) => {
        // After a retryable error the message may have been stored: its payload must stay.
        if (!MeshError.from(thrown).retryable) claims.drop(small);
        throw thrown;
      });
      // The first message with this id has a payload of its own.
      if (duplicate && isSure) claims.drop(small);
      return { duplicate };
    },

    earlierRuns: (session, before) => earlierRuns({ link, claims, subjects }, session, before),
    ghostRuns: createGhostReader({ link, claims, subjects }),
    consumeRuns: (name, handler, options) => work({ kind: 'run', name }, handler, options),
    consumeOperations: (name, handler, options) => work({ kind: 'operation', name }, handler, options),
    consumeJobs: (name, handler, options) => work({ kind: 'job', name }, handler, options),

    async announce(card, { onlyIfAbsent = false } = {}) {
      parse(cardSchema, card, `the card of ${card.kind} ${card.name}`);
      const bytes = encodeJson({ ...card, replica } satisfies StoredCard);
      await whenConnected(link);
      await link.putCard(subjects.cardKey(card.kind, card.name), bytes, onlyIfAbsent);
    },

    objects: (bucket) => link.objects(bucket),
    records: (bucket) => link.records(bucket),

    async register(info, endpoints) {
      await whenConnected(link);
      return keep(register(shared, info, endpoints));
    },

    isServed: (name) => isServed({ inbox, link, caller: service }, name),

    async isGone(name, other, holder) {
      const found = await findHolder(inbox, service, { service: name, replica: other, holder });
      if (found === 'dropped') return true;
      return found === 'gone' && (!reconnects || performance.now() - connectedAt > settlingMs);
    },

    async [Symbol.asyncDispose]() {
      disposed ??= dispose();
      await disposed;
    },
  };
}

async function subscribe(
  { link, claims, onError }: { link: BrokerLink; claims: Claims; onError: OnError },
  subject: string,
  onMessage: (message: Message) => void,
  { onGap, onLost, skipsLarge = false }: SubscribeOptions = {},
): Promise<Started> {
  await whenConnected(link);
  const where = `subscribe ${subject}`;
  const guarded = (run: () => void) => {
    try {
      run();
    } catch (thrown) {
      onError(thrown, where);
    }
  };
  // Called only when the broker knows the subscription again. A reader who reads the log then and listens
  // here misses nothing.
  const reportGap = onGap && ((of?: string) => void link.flush().then(() => guarded(() => onGap(of))));
  const arrive = inOrderOfArrival(claims);
  const listening = await link.listen(
    subject,
    (packet: Packet) => {
      if (skipsLarge && isClaim(packet)) {
        reportGap?.(packet.subject);
        return;
      }
      arrive(packet, {
        deliver: (whole) => guarded(() => onMessage(createMessage(whole))),
        fail(error) {
          onError(error, where);
          reportGap?.(packet.subject);
        },
      });
    },
    {
      onLost(error) {
        onError(error, where);
        if (onLost) guarded(onLost);
      },
    },
  );
  const removeListener = reportGap ? link.onConnected(() => reportGap()) : () => {};
  return startOnce(async () => {
    removeListener();
    await listening.drain();
  });
}
