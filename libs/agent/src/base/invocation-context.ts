import type { Event, OptionNames, RunConfig } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import type { SignInService } from '../credentials/sign-in-service.ts';
import type { HeardEvents } from '../journal/heard-events.ts';
import type { HeldStep } from '../journal/held-step.ts';
import { eventsOfRun, type JournalRange, journalRange, openCallIds } from '../journal/journal.ts';
import { createNotes, type MadeEvent } from '../journal/shared-notes.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { InvocationRef } from '../sessions/invocations.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';
import type { BaseAgent } from './base-agent.ts';
import type { BaseContextCompactor } from './context-compactor.ts';
import type { OnFailure } from './failure.ts';
import { PluginManager } from './plugin-manager.ts';

/** An agent that a conversation may be transferred to. */
export interface TransferTarget {
  name: string;
  description: string;
}

/** How a conversation leaves this process: given by who runs the invocation, absent where all agents are in it. */
export interface TransferPort {
  /** Agents elsewhere that the agent of this name may hand over to, beside those of its own tree. */
  targets(agent: string): TransferTarget[];
  /** Does it belong to the same tree of agents, over all processes? A tool may transfer to it. */
  reaches(agent: string): boolean;
  /** Names the LLM agent elsewhere that has the agent of this name as a sub-agent. */
  parent?(agent: string): string | undefined;
  /** Is there such an agent elsewhere now? */
  knows(agent: string): boolean;
  /** What the root of the tree, when it is elsewhere, tells all agents to do: a template, filled here. */
  globalInstruction?(appName: string): string;
  /** An agent elsewhere, to be run in this one's place. */
  remote(agent: string): BaseAgent;
  /**
   * Takes note that the invocation goes on at an agent elsewhere; the caller then stops. Absent where somebody waits here for the answer: the
   * agent elsewhere is then run from here.
   */
  handOver?(agent: string): void;
}

/** What agents and tools may use beside the session. */
export interface InvocationServices {
  artifactService?: ArtifactService;
  memoryService?: BaseMemoryService;
  credentialService?: CredentialService;
  /** Keeps the sign-ins that lead to credentials. */
  signInService?: SignInService;
  /** Takes what tools and models throw, with its stack. */
  onFailure?: OnFailure;
}

export const invocationServiceNames: OptionNames<InvocationServices> = {
  artifactService: true,
  memoryService: true,
  credentialService: true,
  signInService: true,
  onFailure: true,
};

export interface InvocationContextFields extends InvocationServices {
  invocationId: string;
  /** The run that continues the invocation; absent for the one that began it. */
  resume?: string;
  session: Session;
  sessionService: SessionService;
  agent: BaseAgent;
  runConfig: RunConfig;
  branch?: string;
  /** The run of a workflow that this belongs to; see `WithNodeInfo`. */
  path?: string;
  userContent?: Content;
  abortSignal?: AbortSignal;
  transfers?: TransferPort;
  /** Headers that go with every message sent on behalf of this invocation: trace context, deadline, depth. */
  carrier?: Readonly<Record<string, string>>;
  pluginManager?: PluginManager;
  /** Takes what happens within a tool call, for those who watch: the events of an agent that is used as a tool. Absent when nobody does. */
  observe?: (event: Event) => void;
  /** Of the app: keep the prompts of all agents short that have none of their own. */
  contextCompactors?: readonly BaseContextCompactor[];
  journal?: JournalRange;
  /** On a mesh: where updates of a call are published. */
  operationSubject?: (callId: string) => string;
  /** How often the work in hand was begun, this time counted; default 1. More than 1: a process died at it. */
  attempt?: number;
  /** Is there code of the user's own above the agent, in this process or in the one that asks? It may keep back or change what the agent says. */
  isUnderOwnCode?: boolean;
  /** Set where the process that asks commits the events: what it has heard of this run so far. */
  held?: HeldStep;
  /** Which run of the agent's flow within the turn this is, from 1; more than 1 only in subclasses that run it again. */
  flowRun?: number;
  /** Index in `session.events` from which on the running agent's own steps are found; default: that of the journal. */
  journalStart?: number;
}

/** One invocation as the running agent sees it. */
export class InvocationContext {
  readonly invocationId: string;
  readonly resume: string | undefined;
  readonly session: Session;
  readonly sessionService: SessionService;
  readonly agent: BaseAgent;
  readonly runConfig: RunConfig;
  readonly branch: string | undefined;
  readonly path: string | undefined;
  readonly userContent: Content | undefined;
  readonly abortSignal: AbortSignal | undefined;
  readonly transfers: TransferPort | undefined;
  readonly carrier: Readonly<Record<string, string>>;
  readonly pluginManager: PluginManager;
  readonly artifactService: ArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  readonly credentialService: CredentialService | undefined;
  readonly signInService: SignInService | undefined;
  readonly onFailure: OnFailure | undefined;
  readonly observe: ((event: Event) => void) | undefined;
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  readonly attempt: number;
  readonly operationSubject: ((callId: string) => string) | undefined;
  readonly journal: JournalRange;
  readonly isUnderOwnCode: boolean;
  readonly held: HeldStep | undefined;
  readonly flowRun: number;
  readonly #fields: InvocationContextFields;
  #turn = {
    ended: false,
    runs: new Map<string, number>(),
    flows: 0,
    transferTo: undefined as string | undefined,
  };
  #shared = createNotes();

  constructor(fields: InvocationContextFields) {
    this.invocationId = fields.invocationId;
    this.resume = fields.resume;
    this.session = fields.session;
    this.sessionService = fields.sessionService;
    this.agent = fields.agent;
    this.runConfig = fields.runConfig;
    this.branch = fields.branch;
    this.path = fields.path;
    this.userContent = fields.userContent;
    this.abortSignal = fields.abortSignal;
    this.transfers = fields.transfers;
    this.carrier = fields.carrier ?? {};
    this.pluginManager = fields.pluginManager ?? new PluginManager();
    this.artifactService = fields.artifactService;
    this.memoryService = fields.memoryService;
    this.credentialService = fields.credentialService;
    this.signInService = fields.signInService;
    this.onFailure = fields.onFailure;
    this.observe = fields.observe;
    this.contextCompactors = fields.contextCompactors;
    this.attempt = fields.attempt ?? 1;
    this.operationSubject = fields.operationSubject;
    this.isUnderOwnCode = fields.isUnderOwnCode ?? false;
    this.held = fields.held;
    this.flowRun = fields.flowRun ?? 1;
    const journal = fields.journal ?? journalRange(fields.session.events, fields.invocationId);
    this.journal = { ...journal, start: fields.journalStart ?? journal.start };
    this.#fields = { ...fields, pluginManager: this.pluginManager, journal: this.journal };
  }

  get appName(): string {
    return this.session.appName;
  }

  get userId(): string {
    return this.session.userId;
  }

  get journalStart(): number {
    return this.journal.start;
  }

  get ref(): InvocationRef {
    const { appName, userId, id } = this.session;
    return { appName, userId, sessionId: id, invocationId: this.invocationId };
  }

  /** Set by callbacks or tools: the agent stops after the step in hand. */
  get endInvocation(): boolean {
    return this.#turn.ended;
  }

  set endInvocation(ended: boolean) {
    this.#turn.ended = ended;
  }

  /** Does the last run of this child wait for the answer to a long-running call? A workflow then goes no further. */
  hasPaused(child: { name: string }): boolean {
    const run = this.#turn.runs.get(child.name) ?? 0;
    return openCallIds(this, eventsOfRun(this, child.name, run)).length > 0;
  }

  /** Does a long-running call of this agent, or of any that it runs, wait for its answer? */
  get isPaused(): boolean {
    return openCallIds(this).length > 0;
  }

  /** The same invocation for another agent, or in another branch. */
  with(fields: Partial<InvocationContextFields>): InvocationContext {
    const context = new InvocationContext({ ...this.#fields, ...fields });
    context.#shared = this.#shared;
    // For the same agent it is the same turn: one count of its children's runs, one end.
    if (context.agent === this.agent) context.#turn = this.#turn;
    return context;
  }

  /** ADK's name of {@link with}. */
  clone(fields: Partial<InvocationContextFields> = {}): InvocationContext {
    return this.with(fields);
  }

  /** May code of the user's change or keep back what the agent yields, before it is committed? */
  get isFiltered(): boolean {
    return this.isUnderOwnCode || this.pluginManager.has('onEventCallback');
  }

  /** The agent that the running one has handed the conversation to. */
  get transferTo(): string | undefined {
    return this.#turn.transferTo;
  }

  set transferTo(agent: string | undefined) {
    this.#turn.transferTo = agent;
  }

  /** Numbers a run of the agent's flow within its turn, from 1. */
  startFlow(): number {
    this.#turn.flows += 1;
    return this.#turn.flows;
  }

  /** Takes note of an event that an agent's flow has made, before anybody else sees it. */
  noteMade(event: Event, made: MadeEvent): void {
    this.#shared.made.set(event.id, made);
    this.heard.add(event);
  }

  /** Events of agents, as code of the user's heard them. */
  get heard(): HeardEvents {
    return this.#shared.heard;
  }

  /** The event as an agent's flow made it; undefined for one that code of the user's made. */
  madeAs(eventId: string): MadeEvent | undefined {
    return this.#shared.made.get(eventId);
  }

  noteFromElsewhere(event: Event): void {
    this.#shared.fromElsewhere.add(event.id);
    this.heard.add(event);
  }

  isFromElsewhere(eventId: string): boolean {
    return this.#shared.fromElsewhere.has(eventId);
  }

  /** Counts how often an agent was told that a limit of the invocation is reached. */
  countRefusal(agent: string): number {
    const count = (this.#shared.refusals.get(agent) ?? 0) + 1;
    this.#shared.refusals.set(agent, count);
    return count;
  }

  /**
   * Names a run of a child, in the path of its events. The number of the run is counted here: code that runs its children in the same order
   * again, after a crash, finds their runs again.
   */
  startRun(child: string): string {
    const { runs } = this.#turn;
    const run = (runs.get(child) ?? 0) + 1;
    runs.set(child, run);
    return run === 1 ? child : `${child}@${run}`;
  }
}
