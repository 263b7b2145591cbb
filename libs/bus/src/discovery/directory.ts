import { type Card, cardSchema, parse, type ServiceKind, type Subjects } from '@agentmesh/protocol';
import type { CardSink, OnError } from '../bus/broker-link.ts';
import type { Directory } from '../bus/bus.ts';
import { decodeJson } from '../messages/json.ts';

/** Makes a directory, and the sink that fills it from the card bucket. */
export function createDirectory(
  { cardKey }: Subjects,
  onError: OnError,
): { directory: Directory; sink: CardSink } {
  const cards = new Map<string, Card>();
  const watchers = new Set<() => void>();

  function read(key: string, bytes: Uint8Array): Card | undefined {
    try {
      const card = parse(cardSchema, decodeJson(bytes), `card ${key}`);
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
      // The older card under this key is better than none.
      if (!card) return;
      cards.set(key, card);
      notifyWatchers();
    },
    delete(key) {
      if (cards.delete(key)) notifyWatchers();
    },
    retain(keys) {
      const missing = [...cards.keys()].filter((key) => !keys.has(key));
      for (const key of missing) cards.delete(key);
      if (missing.length > 0) notifyWatchers();
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
      // A new function for each watch, so that one callback may watch twice.
      const watcher = () => onChange();
      watchers.add(watcher);
      if (cards.size > 0) watcher();
      return () => watchers.delete(watcher);
    },
  };
  return { directory, sink };
}
