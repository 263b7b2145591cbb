import type { Caller, Event, EventActions, OptionNames, RunConfig } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import type { SignInService } from '../credentials/sign-in-service.ts';
import type { HeardEvents } from '../journal/heard-events.ts';
import type { HeldStep } from '../journal/held-step.ts';
import { eventsOfRun, type JournalRange, journalRange, openCallIds } from '../journal/journal.ts';
import { createNotes, type MadeEvent, type SharedNotes } from '../journal/shared-notes.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { InvocationRef } from '../sessions/invocations.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';
import type { BaseAgent } from './base-agent.ts';
import type { BaseContextCompactor } from './context-compactor.ts';
import type { OnFailure } from './failure.ts';
import { PluginManager } from './plugin-manager.ts';
import type { TransferPort } from './transfer-port.ts';

/** Services for agents and tools, beside the session. */
export interface InvocationServices {
  artifactService?: ArtifactService;
  memoryService?: BaseMemoryService;
  credentialService?: CredentialService;
  /** The store of the sign-ins that lead to credentials. */
  signInService?: SignInService;
  /** The listener for exceptions of tools and models. */
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
  /** Id of the run that continues the invocation; absent for the run that began it. */
  resume?: string;
  session: Session;
  sessionService: SessionService;
  agent: BaseAgent;
  runConfig: RunConfig;
  branch?: string;
  /** The path of the workflow run to which the agent belongs; see `WithNodeInfo`. */
  path?: string;
  userContent?: Content;
  abortSignal?: AbortSignal;
  transfers?: TransferPort;
  /** Headers of every message that is sent for this invocation: trace context, deadline, depth. */
  carrier?: Readonly<Record<string, string>>;
  /** The authenticated caller who began the run; absent when nobody was authenticated. */
  caller?: Caller | undefined;
  pluginManager?: PluginManager;
  /** Receives the events of an agent that a tool call runs. Absent when nobody watches. */
  observe?: (event: Event) => void;
  /** The app's compactors, for the agents that have none of their own. */
  contextCompactors?: readonly BaseContextCompactor[];
  journal?: JournalRange;
  /** Returns the subject for updates of a call, by the service of a tool or by a program. Only set on a mesh. */
  operationSubject?: (callId: string, tool?: string) => string;
  /**
   * Number of times the current work began, including this one; default 1. More than 1 means that a process
   * died during it.
   */
  attempt?: number;
  /**
   * True when user code runs the agent, in this process or in the asking process. The code may drop or change
   * the agent's events.
   */
  isUnderOwnCode?: boolean;
  /**
   * The state of a held step: the events of this run that the asking process has seen so far. Set only when
   * the asking process commits the events.
   */
  held?: HeldStep;
  /** True when the framework commits the events of the agent: no other code reads them before. */
  isDirect?: boolean;
  /** Number of this run of the agent's flow within the turn, from 1. Subclasses may run the flow again. */
  flowRun?: number;
  /** Index in `session.events` at which the running agent's steps begin; default: the start of the journal. */
  journalStart?: number;
}

/** The view of one invocation for the running agent. */
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
  readonly caller: Caller | undefined;
  readonly pluginManager: PluginManager;
  readonly artifactService: ArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  readonly credentialService: CredentialService | undefined;
  readonly signInService: SignInService | undefined;
  readonly onFailure: OnFailure | undefined;
  readonly observe: ((event: Event) => void) | undefined;
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  readonly attempt: number;
  readonly operationSubject: ((callId: string, tool?: string) => string) | undefined;
  readonly journal: JournalRange;
  readonly isUnderOwnCode: boolean;
  readonly held: HeldStep | undefined;
  readonly flowRun: number;
  readonly #isDirect: boolean;
  readonly #fields: InvocationContextFields;
  #turn = {
    ended: false,
    runs: undefined as Map<string, number> | undefined,
    flows: 0,
    transferTo: undefined as string | undefined,
    calls: [] as EventActions[],
  };
  #shared: { notes?: SharedNotes } = {};

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
    this.caller = fields.caller;
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
    this.#isDirect = fields.isDirect ?? false;
    this.flowRun = fields.flowRun ?? 1;
    const journal = fields.journal ?? journalRange(fields.session.events, fields.invocationId);
    this.journal = { ...journal, start: fields.journalStart ?? journal.start };
    this.#fields = fields;
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

  /** Ends the agent's turn after the current step. Set by callbacks or tools. */
  get endInvocation(): boolean {
    return this.#turn.ended;
  }

  set endInvocation(ended: boolean) {
    this.#turn.ended = ended;
  }

  /**
   * Tells whether the last run of this child waits for the answer to a long-running call. A workflow then
   * stops here.
   */
  hasPaused(child: { name: string }): boolean {
    const run = this.#turn.runs?.get(child.name) ?? 0;
    return openCallIds(this, eventsOfRun(this, child.name, run)).length > 0;
  }

  /** Tells whether a long-running call of this agent, or of any agent that it runs, waits for its answer. */
  get isPaused(): boolean {
    return openCallIds(this).length > 0;
  }

  /** Returns a context of the same invocation for another agent, or in another branch. */
  with(fields: Partial<InvocationContextFields>): InvocationContext {
    const { pluginManager, journal } = this;
    const context = new InvocationContext({ ...this.#fields, pluginManager, journal, ...fields });
    context.#shared = this.#shared;
    // The same agent is in the same turn, so both contexts share the counts of child runs and the end of the
    // turn.
    if (context.agent === this.agent) context.#turn = this.#turn;
    return context;
  }

  /** Does the same as {@link with}; ADK's name for it. */
  clone(fields: Partial<InvocationContextFields> = {}): InvocationContext {
    return this.with(fields);
  }

  /** Tells whether user code may change or drop the agent's events before they are committed. */
  get isFiltered(): boolean {
    return this.isUnderOwnCode || this.pluginManager.has('onEventCallback');
  }

  /** Tells whether each event is in the log as the agent emitted it when the agent goes on. */
  get isDirect(): boolean {
    return this.#isDirect && !this.held && !this.isFiltered;
  }

  /** The agent to which the running agent has transferred the conversation. */
  get transferTo(): string | undefined {
    return this.#turn.transferTo;
  }

  set transferTo(agent: string | undefined) {
    this.#turn.transferTo = agent;
  }

  /** The actions of the calls that the agent makes in one step. Nothing of them is committed. */
  get openActions(): EventActions[] {
    return this.#turn.calls;
  }

  /** Returns the number of the next run of the agent's flow within its turn, from 1. */
  startFlow(): number {
    this.#turn.flows += 1;
    return this.#turn.flows;
  }

  /** Records an event of an agent's flow before any other code sees it. */
  noteMade(event: Event, made: MadeEvent): void {
    this.notes.made.set(event.id, made);
    this.heard.add(event);
  }

  /** The events of agents as user code received them. */
  get heard(): HeardEvents {
    return this.notes.heard;
  }

  /** The notes that all contexts of the run share. */
  get notes(): SharedNotes {
    this.#shared.notes ??= createNotes();
    return this.#shared.notes;
  }

  /** Returns the event as the agent's flow made it; undefined for an event that user code made. */
  madeAs(eventId: string): MadeEvent | undefined {
    return this.#shared.notes?.made.get(eventId);
  }

  noteFromElsewhere(event: Event): void {
    this.notes.fromElsewhere.add(event.id);
    this.heard.add(event);
  }

  isFromElsewhere(eventId: string): boolean {
    return this.#shared.notes?.fromElsewhere.has(eventId) ?? false;
  }

  /**
   * Names the next run of a child, for the path of its events. Runs are counted here, so code that runs its
   * children in the same order again after a crash finds their earlier runs.
   */
  startRun(child: string): string {
    this.#turn.runs ??= new Map();
    const { runs } = this.#turn;
    const run = (runs.get(child) ?? 0) + 1;
    runs.set(child, run);
    return run === 1 ? child : `${child}@${run}`;
  }
}
