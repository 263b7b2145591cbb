import { header, MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { BrokerLink, OnError, Packet } from '../bus/broker-link.ts';
import { queueGroup, type ServiceInfo, type Started } from '../bus/bus.ts';
import { startOnce, within } from '../bus/started.ts';
import type { Stats } from '../bus/stats.ts';
import { decodeJson, encodeJson } from '../messages/json.ts';
import { assertSubject, isReplySubject } from '../messages/subject.ts';
import { firstPacket, type Inbox } from '../requests/inbox.ts';

const nameRule = /^[A-Za-z0-9_-]+$/;

/**
 * Returns the subjects of the NATS services protocol (ADR-32 of NATS): of all services, of one service, of
 * one replica.
 */
function srvSubjects(verb: 'PING' | 'INFO' | 'STATS', name: string, id: string): string[] {
  return [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`];
}

export interface Registrant {
  link: BrokerLink;
  replica: string;
  stats: Stats;
  onError: OnError;
}

/** Answers the NATS services protocol. See `Bus.register`. */
export async function register(
  { link, replica, stats, onError }: Registrant,
  info: ServiceInfo,
  subjects: string[],
): Promise<Started> {
  const { name, version, description, kind, calls, holds } = info;
  assertServiceName(name);
  const identity = { name, id: replica, version, metadata: { kind, name, replica } };
  const started = new Date().toISOString();
  const endpoint = (subject: string) => ({
    // The protocol allows no wildcard in a name.
    name: subject.split('.').findLast((token) => token !== '*') ?? '',
    subject,
    queue_group: queueGroup,
  });
  const statsReply = (shown: (counted: Counters) => Counters) => ({
    type: 'io.nats.micro.v1.stats_response',
    ...identity,
    started,
    endpoints: subjects.map((subject) => ({ ...endpoint(subject), ...shown(counters(stats, subject)) })),
    ...(calls && { calls: calls() }),
  });
  const replies = {
    PING: ({ headers }: Packet) => {
      // Accounts let fewer services ask for STATS: each way into an account costs nats-server time.
      if (headers[header.accept] === 'stats')
        return statsReply((counted) => ({ ...counted, last_error: '' }));
      const holder = headers[header.holder];
      const held = holder !== undefined && holds ? { holds: holds(holder) } : {};
      return { type: 'io.nats.micro.v1.ping_response', ...identity, ...held };
    },
    INFO: () => ({
      type: 'io.nats.micro.v1.info_response',
      ...identity,
      description,
      endpoints: subjects.map((subject) => ({ ...endpoint(subject), metadata: {} })),
    }),
    STATS: () => statsReply((counted) => counted),
  };

  const where = `register ${name}`;
  const answer = (make: (packet: Packet) => object) => (packet: Packet) => {
    if (!isReplySubject(packet.reply) || !link.connected) return;
    try {
      link.send({ subject: packet.reply, headers: {}, bytes: encodeJson(make(packet)) });
    } catch (thrown) {
      onError(thrown, where);
    }
  };
  const onLost = (error: MeshError) => onError(error, where);
  const listen = (verb: keyof typeof replies, subject: string) =>
    link.listen(subject, answer(replies[verb]), { onLost });
  const listening = await Promise.all(
    (['PING', 'INFO', 'STATS'] as const).flatMap((verb) =>
      srvSubjects(verb, name, replica).map(async (subject) => ({
        subject,
        listener: await listen(verb, subject),
      })),
    ),
  );
  return startOnce(async () => {
    // This subscription ends with the connection: a process that stops may still be at work. See `Bus.isGone`.
    const others = listening.filter(({ subject }) => subject !== replicaPing(name, replica));
    await Promise.all(others.map(({ listener }) => listener.drain()));
  });
}

function replicaPing(name: string, replica: string): string {
  return `$SRV.PING.${name}.${replica}`;
}

type Counters = ReturnType<typeof counters>;

function counters(stats: Stats, subject: string) {
  const { requests, errors, lastError, processingNs } = stats.of(subject);
  return {
    num_requests: requests,
    num_errors: errors,
    last_error: lastError,
    processing_time: processingNs,
    average_processing_time: requests === 0 ? 0 : Math.round(processingNs / requests),
  };
}

const pingTimeoutMs = 1_000;
/** The time for which a replica may be silent before a ping is repeated, in ms. */
const silenceMs = 500;
/** The number of pings before the server is asked whether it is there. */
const mostPings = 2;
const flushTimeoutMs = 500;

/** Tells whether a replica of the service listens. See `Bus.isServed`. */
export async function isServed(
  { inbox, link, caller }: { inbox: Inbox; link: BrokerLink; caller: string },
  name: string,
): Promise<boolean> {
  const ping: Packet = {
    subject: `$SRV.PING.${assertServiceName(name)}`,
    headers: { [header.caller]: caller },
    bytes: new Uint8Array(),
  };
  // A replica that connects again, as with new credentials, hears the second ping only.
  for (let sent = 1; sent <= mostPings; sent += 1) {
    const reply = await firstPacket(inbox, ping, silenceMs);
    if (reply) return !reply.noResponders;
  }
  // A replica that is paused, or on a busy machine, is silent. The server is asked after the ping: a server
  // that stops between two questions would answer the first one only.
  if (await answers(link)) return true;
  throw new MeshError('unavailable', 'NATS gives no answer; try again later');
}

function readJson(bytes: Uint8Array): unknown {
  try {
    return decodeJson(bytes);
  } catch {
    return undefined;
  }
}

/** Tells whether the server answers in time. */
async function answers(link: BrokerLink): Promise<boolean> {
  let answered = false;
  const flushed = link.flush().then(() => {
    answered = link.connected;
  });
  await within(flushTimeoutMs, flushed);
  return answered;
}

/** Time for which all processes may take to connect again after a restart of the server, in ms. */
export const settlingMs = 5_000;

const holdsSchema = z.object({ holds: z.boolean() });

/**
 * Asks a replica whether it is at its work as this holder. Returns `gone` when the server knows no connection of the
 * replica, `dropped` when it answers that it is not; `there` also when it is silent. See `Bus.isGone`.
 */
export async function findHolder(
  inbox: Inbox,
  caller: string,
  { service, replica, holder }: { service: string; replica: string; holder: string | undefined },
): Promise<'gone' | 'dropped' | 'there'> {
  const ping: Packet = {
    subject: assertSubject(replicaPing(assertServiceName(service), replica)),
    headers: { [header.caller]: caller, ...(holder !== undefined && { [header.holder]: holder }) },
    bytes: new Uint8Array(),
  };
  const reply = await firstPacket(inbox, ping, pingTimeoutMs);
  if (reply?.noResponders) return 'gone';
  return holdsSchema.safeParse(reply && readJson(reply.bytes)).data?.holds === false ? 'dropped' : 'there';
}

function assertServiceName(name: string): string {
  if (nameRule.test(name)) return name;
  throw new MeshError(
    'invalid_argument',
    `service name ${JSON.stringify(name)}: use only letters, digits, _ and -`,
  );
}
