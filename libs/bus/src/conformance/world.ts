import type { BrokerLink, OnError } from '../bus/broker-link.ts';
import type { Bus } from '../bus/bus.ts';

export interface WorldConnectOptions {
  onError?: OnError;
  heartbeatMs?: number;
}

/** One broker and how to reach it, in namespace `mesh`. */
export interface World extends AsyncDisposable {
  connect(service: string, options?: WorldConnectOptions): Promise<Bus>;
  /** A connection without our code above it: what a client in another language sees. */
  openLink(): Promise<BrokerLink>;
  /** Makes the queues of these agents. An item whose worker died is delivered again after `ackWaitMs`, or sooner. */
  provision(agents: string[], ackWaitMs: number): Promise<void>;
  /** Ends a bus as the death of its process would. */
  kill(bus: Bus): Promise<void>;
}

/** What a suite works with: every test has names of its own, so that one broker serves all. */
export interface Scene {
  /** Connects; closed after the test. */
  connect(service: string, options?: WorldConnectOptions): Promise<Bus>;
  openLink(): Promise<BrokerLink>;
  provision(agents: string[], ackWaitMs?: number): Promise<void>;
  kill(bus: Bus): Promise<void>;
  /** A name nobody else uses. */
  name(word: string): string;
}
