import { type Caller, MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { State } from '../events/state.ts';
import type { Session } from '../sessions/session.ts';
import type { InvocationContext, InvocationServices } from './invocation-context.ts';

/** The origin of a context: an invocation of this process, or a call that came over the bus. */
export interface ContextOrigin {
  invocationId: string;
  agentName: string;
  session: Pick<Session, 'id' | 'appName' | 'userId' | 'state'>;
  userContent?: Content | undefined;
  abortSignal?: AbortSignal | undefined;
  /** The invocation, when an agent of this process runs it. */
  invocation?: InvocationContext;
  /** The authenticated caller, for a context without an invocation. */
  caller?: Caller | undefined;
  /** The services for a context without an invocation: the context of a tool in a process of its own. */
  services?: InvocationServices;
}

/** The context of an instruction provider: reading only. */
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

  /** The invocation, when an agent of this process runs it; undefined in a tool with a process of its own. */
  get invocationContext(): InvocationContext | undefined {
    return this.origin.invocation;
  }

  /**
   * The authenticated caller who sent the message of this run to a gateway, with its user and its roles in the
   * app. No service can make one up. Undefined when nobody was authenticated: in one process, for a program on
   * NATS, and at a gateway with `MESH_HTTP_AUTH=none`.
   */
  get caller(): Caller | undefined {
    return this.origin.invocation?.caller ?? this.origin.caller;
  }

  /** The services that this process provides. */
  get services(): InvocationServices {
    const { invocation, services } = this.origin;
    return services ?? (invocation as InvocationServices | undefined) ?? {};
  }

  /** State of all scopes; a write to it throws. */
  get state(): State {
    return State.readonly(this.origin.session.state);
  }
}

/** Makes the error for a service that the runner was not given. */
export function missingService(service: keyof InvocationServices): MeshError {
  return new MeshError('failed_precondition', `there is no ${service}; give the runner one`);
}

/** Returns the origin of the contexts for an agent's callbacks and tools. */
export function originOf(context: InvocationContext): ContextOrigin {
  const { invocationId, agent, session, userContent, abortSignal } = context;
  return { invocationId, agentName: agent.name, session, userContent, abortSignal, invocation: context };
}
