import type { EventActions } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { createEventActions } from './event.ts';
import type { InvocationContext } from './invocation-context.ts';
import type { Session } from './session-service.ts';
import { State } from './state.ts';

/** Where a context stands: an invocation of this process, or a call that came over the bus. */
export interface ContextOrigin {
  invocationId: string;
  agentName: string;
  session: Pick<Session, 'id' | 'appName' | 'userId' | 'state'>;
  userContent?: Content | undefined;
  abortSignal?: AbortSignal | undefined;
  /** The invocation itself, where the context belongs to an agent of this process. */
  invocation?: InvocationContext;
}

/** What instruction providers may look at. */
export class ReadonlyContext {
  protected readonly origin: ContextOrigin;

  constructor(origin: ContextOrigin) {
    this.origin = origin;
  }

  /** The message that started the invocation. */
  get userContent(): Content | undefined {
    return this.origin.userContent;
  }

  get invocationId(): string {
    return this.origin.invocationId;
  }

  get agentName(): string {
    return this.origin.agentName;
  }

  get appName(): string {
    return this.origin.session.appName;
  }

  get userId(): string {
    return this.origin.session.userId;
  }

  get sessionId(): string {
    return this.origin.session.id;
  }

  /** The invocation, where the context belongs to an agent of this process; a tool in a process of its own has none. */
  get invocationContext(): InvocationContext | undefined {
    return this.origin.invocation;
  }

  /** State of all scopes; writes to it are not kept. */
  get state(): State {
    return new State({ ...this.origin.session.state });
  }
}

export interface ContextOptions {
  actions?: EventActions;
  functionCallId?: string;
}

/** What tools and callbacks get: state they may write, actions they may set, and the call they serve. */
export class Context extends ReadonlyContext {
  readonly actions: EventActions;
  /** Id of the function call: the idempotency key of everything the tool does outside. */
  readonly functionCallId: string | undefined;
  readonly #state: State;

  constructor(
    origin: ContextOrigin,
    { actions = createEventActions(), functionCallId }: ContextOptions = {},
  ) {
    super(origin);
    this.actions = actions;
    this.functionCallId = functionCallId;
    this.#state = new State(origin.session.state, actions.stateDelta);
  }

  override get state(): State {
    return this.#state;
  }

  /** ADK's other name of {@link actions}. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /** Aborted when the invocation is cancelled or its deadline is over. */
  get abortSignal(): AbortSignal | undefined {
    return this.origin.abortSignal;
  }
}
