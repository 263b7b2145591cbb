import { aloneHeader, every, header, subjects } from '@agentmesh/protocol';
import { type Random, seededRandom } from '@agentmesh/testing';
import type { BrokerLink, Delivery, Packet, WorkSource } from '../../../libs/bus/src/bus/broker-link.ts';

/** The agent whose queue the programs use. */
export const agent = 'recorded';
/**
 * The time after which unacknowledged work comes again, and that after which work comes again that was given back, in
 * ms: long beside the second that a request for work lasts, so that few ends come at nearly the same time.
 */
export const ackWaitMs = 8_000;
const givenBackMs = 3_300;
/** The time after which acknowledgements outlast a server that is killed, in ms. */
const syncMs = 3_000;
const recordKey = 'key';
const names = subjects();

/** One step of a program. Numbers mean the nth connection, or the nth delivery of the program. */
export type Step =
  | { do: 'store'; id: string; session: string; alone: boolean }
  | { do: 'pull'; by: number; count: number }
  | { do: 'ack' | 'working' | 'nak' | 'nakLater'; of: number }
  | { do: 'wait'; ms: number }
  | { do: 'cut'; by: number }
  | { do: 'restart' }
  | { do: 'next'; session: string; from: number }
  | { do: 'listen'; by: number; queue: boolean }
  | { do: 'publish'; by: number }
  | { do: 'request'; isServed: boolean }
  | { do: 'write'; value: string; isLate: boolean };

/** A server of NATS, real or not, whose queue of {@link agent} is empty. */
export interface RecordedServer {
  connect(): Promise<BrokerLink>;
  /** Breaks a connection off, as the death of its process does. */
  cut(link: BrokerLink): Promise<void>;
  /** Kills the server, and starts it with what is on its disk. Resolves when all connections are up again. */
  restart(): Promise<void>;
  /** The bucket for the records of the program. */
  bucket: string;
}

const connections = [0, 1];
const sessions = ['s1', 's2', 's3'];

/** Makes a random program. The same seed makes the same one. */
export function randomProgram(seed: number, length = 40): Step[] {
  const random = seededRandom(seed);
  return Array.from({ length }, (_, at) => randomStep(random, at));
}

function randomStep(random: Random, at: number): Step {
  const by = random.pick(connections);
  const session = random.pick(sessions);
  const of = random.integer(0, 12);
  const kinds: [number, () => Step][] = [
    [24, () => ({ do: 'store', id: `m${random.integer(0, 12)}`, session, alone: random.chance(0.3) })],
    [22, () => ({ do: 'pull', by, count: random.integer(1, 3) })],
    [14, () => ({ do: 'ack', of })],
    [4, () => ({ do: 'working', of })],
    [6, () => ({ do: 'nak', of })],
    [4, () => ({ do: 'nakLater', of })],
    [2, () => ({ do: 'wait', ms: ackWaitMs * 1.2 })],
    [2, () => ({ do: 'cut', by })],
    [1, () => ({ do: 'restart' })],
    [6, () => ({ do: 'next', session: random.pick([...sessions, '*']), from: random.integer(0, 10) })],
    [3, () => ({ do: 'listen', by, queue: random.chance(0.5) })],
    [4, () => ({ do: 'publish', by })],
    [3, () => ({ do: 'request', isServed: random.chance(0.5) })],
    [4, () => ({ do: 'write', value: `v${at}`, isLate: random.chance(0.3) })],
  ];
  let left = random.integer(
    1,
    kinds.reduce((sum, [weight]) => sum + weight, 0),
  );
  for (const [weight, make] of kinds) {
    left -= weight;
    if (left <= 0) return make();
  }
  throw new Error('the weights have another sum');
}

/** Carries a program out, and returns what each step has shown. */
export async function carryOut(server: RecordedServer, program: readonly Step[]): Promise<unknown[]> {
  const run = new Run(server);
  const shown: unknown[] = [];
  await run.begin();
  for (const step of program) shown.push(await run.take(step));
  shown.push(await run.rest());
  await run.end();
  return shown;
}

/** The state of a program at work. */
class Run {
  readonly #server: RecordedServer;
  readonly #links: BrokerLink[] = [];
  readonly #sources: WorkSource[] = [];
  readonly #deliveries: Delivery[] = [];
  /** The packets that listeners have received, by the number of the subscription. */
  #heard = 0;

  constructor(server: RecordedServer) {
    this.#server = server;
  }

  async begin(): Promise<void> {
    for (const by of connections) await this.#connect(by);
  }

  async #connect(by: number): Promise<void> {
    const link = await this.#server.connect();
    this.#links[by] = link;
    this.#sources[by] = await link.openWork({ kind: 'run', name: agent });
  }

  /** Returns what a step has shown; null for a step that shows nothing. */
  async take(step: Step): Promise<unknown> {
    const [first] = this.#links as [BrokerLink];
    switch (step.do) {
      case 'store':
        return { duplicate: (await first.enqueue(commandOf(step))).duplicate };
      case 'pull':
        return await this.#pull(step);
      case 'wait':
        return await pause(step.ms);
      case 'cut':
        await this.#server.cut(this.#links[step.by] as BrokerLink);
        await this.#connect(step.by);
        return null;
      case 'restart':
        // A server that is killed forgets the last acknowledgements, more or fewer of them.
        await pause(syncMs);
        await this.#server.restart();
        // A real server takes a while for the start, and all ack waits begin anew.
        return await pause(ackWaitMs * 1.5);
      case 'next': {
        const found = await first.nextWork('run', queueOf(step.session), step.from);
        return found ? { place: found.place, ...read(found) } : null;
      }
      case 'listen':
        await this.#links[step.by]?.listen(
          'recorded.news',
          () => {
            this.#heard += 1;
          },
          {
            ...(step.queue && { queue: 'q' }),
          },
        );
        return null;
      case 'publish':
        return await this.#publish(step.by);
      case 'request':
        return await this.#request(step.isServed);
      case 'write':
        return await this.#write(step);
      default:
        return await this.#answer(step);
    }
  }

  async #pull({ by, count }: { by: number; count: number }): Promise<unknown> {
    const taken: Delivery[] = [];
    await this.#sources[by]?.pull(count, (delivery) => taken.push(delivery));
    this.#deliveries.push(...taken);
    return taken.map((delivery) => ({
      ...{ place: delivery.place, attempt: delivery.attempt, ...read(delivery) },
      isAlone: aloneHeader in delivery.headers,
    }));
  }

  async #answer({ do: word, of }: { do: 'ack' | 'working' | 'nak' | 'nakLater'; of: number }) {
    const delivery = this.#deliveries[of];
    if (!delivery) return null;
    // The connection that got the delivery may be closed.
    if (word === 'ack') await delivery.ack().catch(() => {});
    else if (word === 'working') delivery.working();
    else delivery.nak(word === 'nak' ? 0 : givenBackMs);
    for (const link of this.#links) await link.flush();
    return null;
  }

  /** Counts the receivers of a packet. */
  async #publish(by: number): Promise<number> {
    this.#heard = 0;
    this.#links[by]?.send({ subject: 'recorded.news', headers: {}, bytes: new Uint8Array() });
    // After two rounds the packet has been at the server and at its receivers.
    for (let round = 0; round < 2; round += 1) for (const link of this.#links) await link.flush();
    return this.#heard;
  }

  async #request(isServed: boolean): Promise<'answer' | 'nobody'> {
    const [asking, serving] = this.#links as [BrokerLink, BrokerLink];
    const subject = 'recorded.service';
    const service = isServed
      ? await serving.listen(subject, ({ reply = '' }) =>
          serving.send({ subject: reply, headers: {}, bytes: new Uint8Array() }),
        )
      : undefined;
    const reply = `${asking.inbox}.r`;
    const answer = Promise.withResolvers<Packet>();
    const inbox = await asking.listen(reply, answer.resolve);
    asking.send({ subject, reply, headers: {}, bytes: new Uint8Array() });
    const { noResponders } = await answer.promise;
    await inbox.drain();
    await service?.drain();
    return noResponders ? 'nobody' : 'answer';
  }

  async #write({ value, isLate }: { value: string; isLate: boolean }): Promise<unknown> {
    const records = this.#links[0]?.records(this.#server.bucket);
    const known = await records?.read(recordKey);
    // A revision that is not the record's own is refused.
    const expected = (known?.revision ?? 0) + (isLate ? 1 : 0);
    const isWritten = await records?.write(recordKey, new TextEncoder().encode(value), expected);
    return { before: known?.value ? new TextDecoder().decode(known.value) : null, isWritten };
  }

  /** Returns the messages that the queue still has. */
  async rest(): Promise<unknown[]> {
    const rest: unknown[] = [];
    for (let from = 1; ; ) {
      const found = await this.#links[0]?.nextWork('run', queueOf('*'), from);
      if (!found) return rest;
      rest.push(read(found));
      from = found.place + 1;
    }
  }

  async end(): Promise<void> {
    for (const source of this.#sources) await source.withdraw(2_000);
    for (const link of this.#links) await link.close();
  }
}

const pause = (ms: number) => new Promise<null>((resolve) => setTimeout(() => resolve(null), ms));

/** Returns the subject of a session's runs, or of all sessions: `*`. */
const queueOf = (session: string) => names.agentRun(agent, session === '*' ? every : session);

function commandOf({ id, session, alone }: { id: string; session: string; alone: boolean }): Packet {
  return {
    subject: names.agentRun(agent, session),
    headers: { [header.messageId]: id, ...(alone && { [aloneHeader]: '0' }) },
    bytes: new TextEncoder().encode(id),
  };
}

/** Reads which message a packet is. */
function read({ subject, bytes }: Packet): { session: string | undefined; id: string } {
  return { session: subject.split('.').at(-1), id: new TextDecoder().decode(bytes) };
}
