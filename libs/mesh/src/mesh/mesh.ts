import {
  type ArtifactService,
  type CredentialRecords,
  type CredentialServices,
  type InvocationServices,
  type MemoryService,
  SessionHeads,
  type SessionService,
} from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import {
  type AgentCard,
  type SecretBox,
  type Subjects,
  subjects,
  type ToolCard,
  type ToolResult,
} from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { JobRecords } from '@agentmesh/store';
import { deletingArtifacts } from '../artifacts/delete-with-session.ts';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import { forgettingCalls } from '../user-data/forget-calls.ts';
import { logFailures } from './outcomes.ts';

/** Results of remote tools by call id, so that a repeated call gets the first one's. */
export interface CallResults {
  get(tool: string, callId: string): Promise<ToolResult | undefined>;
  /** Keeps the first result and returns it. `ttlMs`: how long. */
  put(tool: string, callId: string, result: ToolResult, ttlMs: number): Promise<ToolResult>;
  /** Claims the work of a call; again with the same holder, it renews the claim. */
  claim(
    tool: string,
    callId: string,
    holder: string,
    ttlMs: number,
  ): Promise<{ state: 'claimed' } | { state: 'done'; result: ToolResult } | { state: 'busy' }>;
  /** Gives up a claim without a result. */
  release(tool: string, callId: string, holder: string): Promise<void>;
  /** Removes what is kept of a call; `final` takes the place of what is there for some minutes. Was there anything? */
  forget(tool: string, callId: string, final?: ToolResult): Promise<boolean>;
}

/** What everything on the mesh stands on: messages, sessions, a log. Made by `connectMesh`, or by hand in tests. */
export interface Mesh {
  readonly bus: Bus;
  readonly sessions: SessionService;
  /** Opens sessions for a turn, and keeps their events for the next one. */
  readonly heads: SessionHeads;
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

export type MeshParts = Omit<Mesh, 'subjects' | 'heads' | 'artifacts'> & {
  namespace?: string;
  /** How much the events may take that are kept between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /** Default: those in the object store of NATS. */
  artifacts?: ArtifactService;
};

export function createMesh({ namespace, sessionCacheBytes: maxBytes, ...parts }: MeshParts): Mesh {
  const { artifacts = openArtifacts('nats', parts.bus, namespace) } = parts;
  const sessions = deletingArtifacts(forgettingCalls(parts.sessions, parts), artifacts);
  const heads = new SessionHeads({ sessions, ...(maxBytes !== undefined && { maxBytes }) });
  return { ...parts, artifacts, sessions, heads, subjects: subjects(namespace) };
}

/** The card of an agent, if the mesh knows it. */
export function agentCard({ bus }: Mesh, name: string): AgentCard | undefined {
  const card = bus.directory.get('agent', name);
  return card?.kind === 'agent' ? card : undefined;
}

/** The card of a tool, if the mesh knows it. */
export function toolCard({ bus }: Mesh, name: string): ToolCard | undefined {
  const card = bus.directory.get('tool', name);
  return card?.kind === 'tool' ? card : undefined;
}

/** The cards of all agents. */
export function agentCards({ bus }: Mesh): AgentCard[] {
  return bus.directory.list('agent').filter((card) => card.kind === 'agent');
}

/** The cards of all tools. */
export function toolCards({ bus }: Mesh): ToolCard[] {
  return bus.directory.list('tool').filter((card) => card.kind === 'tool');
}
