import type { ArtifactService, InvocationServices, MemoryService, SessionService } from '@agentmesh/agent';
import type { CredentialRecords, CredentialServices, SessionCache } from '@agentmesh/agent/internal';
import type { Bus } from '@agentmesh/bus';
import type { SecretBox, Subjects } from '@agentmesh/protocol';
import type { Logger, PriceOf } from '@agentmesh/service';
import type {
  ApiKeys,
  CallResults,
  DataKeys,
  JobRecords,
  RepeatedRequests,
  RequestLimits,
  RunQuotas,
} from '@agentmesh/store';
import type { CallCounts } from './call-counts.ts';
import type { Callers } from './callers.ts';
import { logFailures } from './outcomes.ts';
import type { ReaderLimits } from './reader-limits.ts';
import type { RunLimits } from './run-limits.ts';

/**
 * The parts of a mesh that all its services use: messages, sessions, a log. Made by `connectMesh`, or by hand
 * in tests.
 */
export interface Mesh {
  readonly bus: Bus;
  readonly sessions: SessionService;
  /** Opens sessions for a turn, and keeps their events for the next one. */
  readonly sessionCache: SessionCache;
  readonly callResults: CallResults;
  readonly jobs: JobRecords;
  /** Keeps files of sessions and users, for all processes of the mesh. */
  readonly artifacts: ArtifactService;
  readonly subjects: Subjects;
  readonly log: Logger;
  readonly limits: RunLimits;
  readonly readerLimits: ReaderLimits;
  /** Counts the calls of other services. */
  readonly callCounts: CallCounts;
  /** The prices of models for the metrics; without it costs are not counted. */
  readonly priceOf?: PriceOf;
  /** Seals credentials in answers; without it answers with credentials are refused. */
  readonly box?: SecretBox;
  /** Keeps people's credentials; without it no credentials are kept. */
  readonly credentials?: CredentialServices;
  /** The descriptions of the credentials; present also in a process that cannot open them. */
  readonly credentialRecords?: CredentialRecords;
  /** The data keys of users, for keepers; absent in a mesh without Redis. */
  readonly dataKeys?: DataKeys;
  /** The identities of callers, and the sources of answers. All processes of a mesh need the same public keys. */
  readonly callers: Callers;
  /** The API keys of the gateways; absent in a mesh without Redis. */
  readonly apiKeys?: ApiKeys;
  /** The limits of callers of the gateways; absent in a mesh without Redis. */
  readonly requestLimits?: RequestLimits;
  /** The requests that clients of the gateways may send again; absent in a mesh without Redis. */
  readonly repeatedRequests?: RepeatedRequests;
  /** The quotas of runs and tokens at the gateways; absent in a mesh without Redis. */
  readonly runQuotas?: RunQuotas;
  /** Memories of users, for all agents and tools; without it nothing is remembered. */
  readonly memory?: MemoryService;
}

/** Returns the services for agents and tools of this process that have none of their own. */
export function meshServices({ artifacts, credentials, memory, log }: Mesh): InvocationServices {
  return {
    artifactService: artifacts,
    ...credentials,
    ...(memory && { memoryService: memory }),
    onFailure: logFailures(log),
  };
}
