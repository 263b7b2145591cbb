import type { RunConfig } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from './base-agent.ts';
import type { InvocationRef, Session, SessionService } from './session-service.ts';

/** An agent that a conversation may be transferred to. */
export interface TransferTarget {
  name: string;
  description: string;
}

/** How a conversation leaves this process: given by who runs the invocation, absent where all agents are in it. */
export interface TransferPort {
  /** Agents elsewhere that the agent of this name may hand over to, beside those of its own tree. */
  targets(agent: string): TransferTarget[];
  /** Is there such an agent elsewhere now? */
  knows(agent: string): boolean;
  /** Takes note that the invocation goes on at an agent elsewhere; the caller then stops. */
  handOver(agent: string): void;
}

export interface InvocationContextFields {
  invocationId: string;
  session: Session;
  sessionService: SessionService;
  agent: BaseAgent;
  runConfig: RunConfig;
  branch?: string;
  userContent?: Content;
  abortSignal?: AbortSignal;
  transfers?: TransferPort;
  /** Headers that go with every message sent on behalf of this invocation: trace context, deadline, depth. */
  carrier?: Readonly<Record<string, string>>;
  /** Index in `session.events` from which on the running agent's own steps are found. */
  journalStart?: number;
}

/** One invocation as the running agent sees it. */
export class InvocationContext implements InvocationContextFields {
  readonly invocationId: string;
  readonly session: Session;
  readonly sessionService: SessionService;
  readonly agent: BaseAgent;
  readonly runConfig: RunConfig;
  readonly branch: string | undefined;
  readonly userContent: Content | undefined;
  readonly abortSignal: AbortSignal | undefined;
  readonly transfers: TransferPort | undefined;
  readonly carrier: Readonly<Record<string, string>>;
  readonly journalStart: number;
  /** Set by callbacks or tools: the agent stops after the step in hand. */
  endInvocation = false;

  constructor(fields: InvocationContextFields) {
    this.invocationId = fields.invocationId;
    this.session = fields.session;
    this.sessionService = fields.sessionService;
    this.agent = fields.agent;
    this.runConfig = fields.runConfig;
    this.branch = fields.branch;
    this.userContent = fields.userContent;
    this.abortSignal = fields.abortSignal;
    this.transfers = fields.transfers;
    this.carrier = fields.carrier ?? {};
    this.journalStart = fields.journalStart ?? firstIndexOf(fields.session, fields.invocationId);
  }

  get appName(): string {
    return this.session.appName;
  }

  get userId(): string {
    return this.session.userId;
  }

  get ref(): InvocationRef {
    const { appName, userId, id } = this.session;
    return { appName, userId, sessionId: id, invocationId: this.invocationId };
  }

  /** The same invocation for another agent, or in another branch. */
  with(fields: Partial<InvocationContextFields>): InvocationContext {
    return new InvocationContext({ ...this.fields(), ...fields });
  }

  private fields(): InvocationContextFields {
    const { invocationId, session, sessionService, agent, runConfig, journalStart, carrier } = this;
    return {
      invocationId,
      session,
      sessionService,
      agent,
      runConfig,
      journalStart,
      carrier,
      ...(this.branch !== undefined && { branch: this.branch }),
      ...(this.userContent && { userContent: this.userContent }),
      ...(this.abortSignal && { abortSignal: this.abortSignal }),
      ...(this.transfers && { transfers: this.transfers }),
    };
  }
}

function firstIndexOf(session: Session, invocationId: string): number {
  const index = session.events.findIndex((event) => event.invocationId === invocationId);
  return index === -1 ? session.events.length : index;
}
