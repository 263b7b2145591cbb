import type { BrokerLink, OnError } from '../bus/broker-link.ts';
import type { Bus } from '../bus/bus.ts';

export interface WorldConnectOptions {
  onError?: OnError;
  heartbeatMs?: number;
}

/** One broker, in namespace `mesh`, and the ways to connect to it. */
export interface World extends AsyncDisposable {
  connect(service: string, options?: WorldConnectOptions): Promise<Bus>;
  /** Opens a connection without our code above it, as a client in another language has it. */
  openLink(): Promise<BrokerLink>;
  /**
   * Makes the queues of these agents. The item of a dead worker is delivered again after `ackWaitMs` at the
   * latest.
   */
  provision(agents: string[], ackWaitMs: number): Promise<void>;
  /** Ends a bus without notice, as the death of its process would. */
  kill(bus: Bus): Promise<void>;
}

/** The tools of a suite. Each test uses names of its own, so that one broker serves all tests. */
export interface Scene {
  /** Connects a bus, which is closed after the test. */
  connect(service: string, options?: WorldConnectOptions): Promise<Bus>;
  openLink(): Promise<BrokerLink>;
  provision(agents: string[], ackWaitMs?: number): Promise<void>;
  kill(bus: Bus): Promise<void>;
  /** Returns a name that no other test uses. */
  name(word: string): string;
}
