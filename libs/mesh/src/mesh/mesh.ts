import type { ArtifactService, InvocationServices, MemoryService, SessionService } from '@agentmesh/agent';
import type { CredentialRecords, CredentialServices, SessionCache } from '@agentmesh/agent/internal';
import type { Bus } from '@agentmesh/bus';
import type { SecretBox, Subjects } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { CallResults, JobRecords } from '@agentmesh/store';
import { logFailures } from './outcomes.ts';

/** The parts of a mesh that all its services use: messages, sessions, a log. Made by `connectMesh`, or by hand in tests. */
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
  /** Seals what people answer with; without it none of that is taken. */
  readonly box?: SecretBox;
  /** Keeps credentials of people; without it none are kept. */
  readonly credentials?: CredentialServices;
  /** What credentials are kept for; a process that cannot open them has it too. */
  readonly credentialRecords?: CredentialRecords;
  /** What users said, for all agents and tools; without it none of them remembers anything. */
  readonly memory?: MemoryService;
}

/** What agents and tools of this process may use, if they are not given their own. */
export function meshServices({ artifacts, credentials, memory, log }: Mesh): InvocationServices {
  return {
    artifactService: artifacts,
    ...credentials,
    ...(memory && { memoryService: memory }),
    onFailure: logFailures(log),
  };
}
