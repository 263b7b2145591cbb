import { MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { State } from '../events/state.ts';
import type { Session } from '../sessions/session.ts';
import type { InvocationContext, InvocationServices } from './invocation-context.ts';

/** Where a context stands: an invocation of this process, or a call that came over the bus. */
export interface ContextOrigin {
  invocationId: string;
  agentName: string;
  session: Pick<Session, 'id' | 'appName' | 'userId' | 'state'>;
  userContent?: Content | undefined;
  abortSignal?: AbortSignal | undefined;
  /** The invocation itself, where the context belongs to an agent of this process. */
  invocation?: InvocationContext;
  /** For a context without an invocation: a tool in a process of its own. */
  services?: InvocationServices;
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

  /** The services that this process has for it. */
  get services(): InvocationServices {
    const { invocation, services } = this.origin;
    return services ?? (invocation as InvocationServices | undefined) ?? {};
  }

  /** State of all scopes; a write to it throws. */
  get state(): State {
    return State.readonly(this.origin.session.state);
  }
}

/** What a tool or callback gets that uses a service which nobody gave. */
export function missingService(service: keyof InvocationServices): MeshError {
  return new MeshError('failed_precondition', `there is no ${service}; give the runner one`);
}

/** Where the contexts of an agent's callbacks and tools stand. */
export function originOf(context: InvocationContext): ContextOrigin {
  const { invocationId, agent, session, userContent, abortSignal } = context;
  return { invocationId, agentName: agent.name, session, userContent, abortSignal, invocation: context };
}
