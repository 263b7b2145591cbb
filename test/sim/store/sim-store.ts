import { InMemorySessionService, type SessionService } from '@agentmesh/agent';
import { memoryCallResults, memoryJobs } from '@agentmesh/mesh';
import type { CallResults, JobRecords } from '@agentmesh/store';
import type { Wire } from '../broker/wire.ts';
import type { Life } from '../world/life.ts';
import { overWire } from './over-wire.ts';
import { StoreWire } from './store-wire.ts';
import { watchCalls, watchJobs } from './watch-claims.ts';

/** The stores of one process. */
export interface Stores {
  sessions: SessionService;
  callResults: CallResults;
  jobs: JobRecords;
}

/** A store in virtual time: the in-memory twins of Redis, which processes reach over a wire. */
export class SimStore {
  readonly wire: StoreWire;
  /** The sessions as the harness reads them, without a wire. */
  readonly sessions: SessionService = new InMemorySessionService();
  /** The claims on calls without a result, and the jobs that are not over. */
  readonly claims = new Map<string, string>();
  readonly openJobs = new Set<string>();
  readonly #callResults: CallResults;
  readonly #jobs: JobRecords;

  constructor(wire: Wire) {
    this.wire = new StoreWire(wire);
    this.#callResults = watchCalls(memoryCallResults(), this.claims);
    this.#jobs = watchJobs(memoryJobs(), this.openJobs);
  }

  /** Opens the stores for a process. */
  openStore(life: Life): Stores {
    return {
      sessions: overWire(this.wire, life, this.sessions, 'sessions'),
      callResults: overWire(this.wire, life, this.#callResults, 'results'),
      jobs: overWire(this.wire, life, this.#jobs, 'jobs'),
    };
  }
}
