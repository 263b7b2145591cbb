import { type Card, cardSchema, parse, type ServiceKind, type Subjects } from '@agentmesh/protocol';
import type { CardSink, OnError } from '../bus/broker-link.ts';
import type { Directory } from '../bus/bus.ts';
import { decodeJson } from '../messages/json.ts';

/** What is known of the card bucket, and the way to tell it. */
export function createDirectory(
  { cardKey }: Subjects,
  onError: OnError,
): { directory: Directory; sink: CardSink } {
  const cards = new Map<string, Card>();
  const watchers = new Set<() => void>();

  function read(key: string, bytes: Uint8Array): Card | undefined {
    try {
      const card = parse(cardSchema, decodeJson(bytes), `card ${key}`);
      // A service may write under its own key alone; a card that names another must not stand for it.
      const ownKey = cardKey(card.kind, card.name);
      if (key !== ownKey) throw new Error(`the card of ${ownKey} lies under ${key}`);
      return card;
    } catch (thrown) {
      onError(thrown, 'directory');
      return undefined;
    }
  }

  function changed() {
    for (const watcher of [...watchers]) {
      try {
        watcher();
      } catch (thrown) {
        onError(thrown, 'directory watcher');
      }
    }
  }

  const sink: CardSink = {
    set(key, bytes) {
      const card = read(key, bytes);
      // What was known under this key is better than nothing.
      if (!card) return;
      cards.set(key, card);
      changed();
    },
    delete(key) {
      if (cards.delete(key)) changed();
    },
    retain(keys) {
      const gone = [...cards.keys()].filter((key) => !keys.has(key));
      for (const key of gone) cards.delete(key);
      if (gone.length > 0) changed();
    },
  };

  function list(kind: ServiceKind): Card[] {
    return [...cards.values()]
      .filter((card) => card.kind === kind)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  const directory: Directory = {
    get: (kind, name) => list(kind).find((card) => card.name === name),
    list,
    watch(onChange) {
      // A function of its own, so that one callback may watch twice.
      const watcher = () => onChange();
      watchers.add(watcher);
      if (cards.size > 0) watcher();
      return () => watchers.delete(watcher);
    },
  };
  return { directory, sink };
}
