import {
  type Card,
  type Provisioned,
  parse,
  provisionedSchema,
  readCard,
  type ServiceKind,
  type Subjects,
} from '@agentmesh/protocol';
import type { CardSink, OnError } from '../bus/broker-link.ts';
import type { Directory } from '../bus/directory.ts';
import { within } from '../bus/started.ts';
import { decodeJson } from '../messages/json.ts';
import { limitCard } from './limit-cards.ts';

/** The beginning of the keys of records, which only the operator may write. */
const provisionedPrefix = 'provisioned.';

/**
 * Makes a directory, and the sink that fills it from the card bucket. The directory shows each card within the
 * record of its agent ({@link limitCard}).
 */
export function createDirectory(
  { cardKey, provisionedKey }: Subjects,
  onError: OnError,
): { directory: Directory; sink: CardSink } {
  const cards = new Map<string, Card>();
  const records = new Map<string, Provisioned>();
  /** The cards within the records; undefined after a change. */
  let limited: Card[] | undefined;
  let refused = new Set<string>();
  const watchers = new Set<() => void>();
  const read = Promise.withResolvers<void>();
  let isRead = false;

  function limitedCards(): Card[] {
    if (limited) return limited;
    const agents = new Map([...records.values()].map((record) => [record.name, record]));
    const results = [...cards.values()].map((card) => limitCard(card, agents));
    limited = results.map(({ card }) => card);
    const refusals = results.flatMap((result) => result.refusals);
    for (const refusal of refusals) if (!refused.has(refusal.message)) onError(refusal, 'directory');
    refused = new Set(refusals.map(({ message }) => message));
    return limited;
  }

  /** Takes in a record or a card. Returns whether it could be read. */
  function take(key: string, bytes: Uint8Array): boolean {
    try {
      if (key.startsWith(provisionedPrefix)) {
        const record = parse(provisionedSchema, decodeJson(bytes), `record ${key}`);
        assertKey(key, provisionedKey(record.name), record.name);
        records.set(key, record);
        return true;
      }
    } catch (thrown) {
      onError(thrown, 'directory');
      return false;
    }
    const card = readOwn(key, bytes);
    if (card) cards.set(key, card);
    return card !== undefined;
  }

  function readOwn(key: string, bytes: Uint8Array): Card | undefined {
    try {
      const card = readCard(decodeJson(bytes), `card ${key}`);
      // A service may write only under its own key. A card that names another service must not be taken for
      // its card.
      const ownKey = cardKey(card.kind, card.name);
      if (key !== ownKey) throw new Error(`the card of ${ownKey} lies under ${key}`);
      return card;
    } catch (thrown) {
      onError(thrown, 'directory');
      return undefined;
    }
  }

  function notifyWatchers() {
    limited = undefined;
    for (const watcher of [...watchers]) {
      try {
        watcher();
      } catch (thrown) {
        onError(thrown, 'directory watcher');
      }
    }
  }

  const forget = (key: string) => cards.delete(key) || records.delete(key);

  const sink: CardSink = {
    set(key, bytes) {
      // The older card under this key is better than none.
      if (take(key, bytes)) notifyWatchers();
    },
    delete(key) {
      if (forget(key)) notifyWatchers();
    },
    retain(keys) {
      const known = [...cards.keys(), ...records.keys()];
      const missing = known.filter((key) => !keys.has(key));
      for (const key of missing) forget(key);
      if (missing.length > 0) notifyWatchers();
    },
    noteRead() {
      isRead = true;
      read.resolve();
    },
  };

  function list(kind: ServiceKind): Card[] {
    return limitedCards()
      .filter((card) => card.kind === kind)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  const directory: Directory = {
    get isRead() {
      return isRead;
    },
    async waitUntilRead(ms) {
      if (!isRead) await within(ms, read.promise);
      return isRead;
    },
    get: (kind, name) => list(kind).find((card) => card.name === name),
    list,
    watch(onChange) {
      // A new function for each watch, so that one callback may watch twice.
      const watcher = () => onChange();
      watchers.add(watcher);
      if (cards.size > 0) watcher();
      return () => watchers.delete(watcher);
    },
  };
  return { directory, sink };
}

function assertKey(key: string, ownKey: string, name: string): void {
  if (key !== ownKey) throw new Error(`the record of ${name} lies under ${key}`);
}
