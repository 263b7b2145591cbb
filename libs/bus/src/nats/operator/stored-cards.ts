import {
  type Card,
  MeshError,
  type Provisioned,
  parse,
  provisionedSchema,
  readCard,
  type ServiceKind,
  subjects,
} from '@agentmesh/protocol';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { decodeJson } from '../../messages/json.ts';
import { readBucket } from '../buckets/card-bucket.ts';
import { dial } from '../wire/dial.ts';
import type { NatsAddress } from '../wire/nats-address.ts';
import { fromNats, isNobodyThere, isTimeout } from '../wire/nats-errors.ts';

export interface OperatorOptions extends NatsAddress {
  namespace?: string | undefined;
  /** The time limit for the connection, in ms; default 10,000. */
  connectTimeoutMs?: number | undefined;
}

/** The cards of a mesh, for an operator. A service that is renamed or removed leaves its card behind. */
export interface StoredCards extends AsyncDisposable {
  /** Lists all cards that can be read, sorted by kind and name. */
  list(): Promise<Card[]>;
  /** Returns a sentence for each card that services ignore, because it is not valid. */
  problems(): Promise<string[]>;
  /** Tells whether a replica of the service is up. */
  isServed(name: string): Promise<boolean>;
  /**
   * Removes a card, and the record for which an agent was provisioned.
   *
   * @throws MeshError `not_found`; `failed_precondition` for a service that is up, because nobody would know
   * the service until its next start
   */
  remove(kind: ServiceKind, name: string): Promise<void>;
  /** Writes the record for which an agent is provisioned: the facts that other services believe. */
  putRecord(record: Provisioned): Promise<void>;
  /** Removes the record of an agent, if there is one. */
  removeRecord(agent: string): Promise<void>;
}

/**
 * Opens the cards of a mesh, as a user that may write the bucket.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openCards(options: OperatorOptions): Promise<StoredCards> {
  const names = subjects(options.namespace);
  const inboxPrefix = names.inboxPrefix('provision');
  const connection = await dial(options, 'cards', inboxPrefix, options.connectTimeoutMs);
  const isServed = (name: string) => answers(connection, `$SRV.PING.${names.shownAs(name)}`);
  const read = async () =>
    await readBucket(connection, names.cardBucket).catch((thrown: unknown) => {
      throw fromNats(thrown, 'read cards');
    });
  const openBucket = () => new Kvm(connection).open(names.cardBucket);
  const readAll = async () => {
    const stored = [...(await read())].filter(([key]) => /^(?:agent|tool)\./.test(key));
    return stored.map(([key, bytes]) => readOne(key, bytes));
  };
  const list = async () => {
    const cards = (await readAll()).filter((each) => typeof each !== 'string');
    return cards.sort((a, b) => `${a.kind} ${a.name}`.localeCompare(`${b.kind} ${b.name}`));
  };
  return {
    list,
    problems: async () => (await readAll()).filter((each) => typeof each === 'string').sort(),
    isServed,
    async remove(kind, name) {
      if (!(await read()).has(names.cardKey(kind, name)))
        throw new MeshError(
          'not_found',
          `there is no card of ${kind} ${name}; list them to see which there are`,
        );
      if (await isServed(name)) {
        throw new MeshError('failed_precondition', `${kind} ${name} is up; stop its replicas first`);
      }
      const bucket = await openBucket();
      await bucket.delete(names.cardKey(kind, name));
      if (kind === 'agent') await bucket.delete(names.provisionedKey(name));
    },
    async putRecord(record) {
      const { name } = parse(provisionedSchema, record, `the record of agent ${record.name}`);
      const bucket = await openBucket();
      await bucket.put(names.provisionedKey(name), JSON.stringify(record));
    },
    // The app of a removed agent is free for another one.
    async removeRecord(agent) {
      const bucket = await openBucket();
      await bucket.delete(names.provisionedKey(agent));
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

/** Reads a card; returns the problem of a card that is not valid. */
function readOne(key: string, bytes: Uint8Array): Card | string {
  try {
    return readCard(decodeJson(bytes), `card ${key}`);
  } catch (thrown) {
    return MeshError.from(thrown).message;
  }
}

async function answers(connection: NatsConnection, subject: string): Promise<boolean> {
  try {
    await connection.request(subject, undefined, { timeout: 1_000 });
    return true;
  } catch (thrown) {
    if (isNobodyThere(thrown) || isTimeout(thrown)) return false;
    throw fromNats(thrown, 'ask for replicas');
  }
}
