import type { Card, ServiceKind } from '@agentmesh/protocol';

/** The cards of all services by kind and name, kept current while the bus is open. Reads are synchronous. */
export interface Directory {
  /**
   * True when this process has read the cards, or has no right to. Until then, at a start while the server gives no
   * answer, an absent card says nothing.
   */
  readonly isRead: boolean;
  /** Waits until {@link isRead} is true, or for a time in ms. Returns `isRead`. */
  waitUntilRead(ms: number): Promise<boolean>;
  get(kind: ServiceKind, name: string): Card | undefined;
  list(kind: ServiceKind): Card[];
  /**
   * Calls `onChange` after each change, and at once when there are cards already. Returns a function that
   * ends the watch.
   */
  watch(onChange: () => void): () => void;
}
