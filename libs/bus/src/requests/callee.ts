import type { BrokerLink, OnError } from '../bus/broker-link.ts';
import type { Stats } from '../bus/stats.ts';
import type { Claims } from '../claims/claims.ts';

/** A process that answers requests. */
export interface Callee {
  link: BrokerLink;
  claims: Claims;
  replica: string;
  heartbeatMs: number;
  stats: Stats;
  onError: OnError;
}
