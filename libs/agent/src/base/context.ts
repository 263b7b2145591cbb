import {
  assertOptions,
  type Event,
  type EventActions,
  type InputRequest,
  MeshError,
  type OptionNames,
  type ToolConfirmation,
} from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { CallCredentials } from '../credentials/call-credentials.ts';
import { shownRequest } from '../credentials/credential-request.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import { createEventActions } from '../events/event.ts';
import { State } from '../events/state.ts';
import type { AddMemoryRequest, SearchMemoryResponse } from '../memory/memory-service.ts';
import { type AnswerSchema, toAnswerSchema } from '../schema/answer-schema.ts';
import { ArtifactContext } from './artifact-context.ts';
import { readConfirmableBy } from './confirmable-by.ts';
import type { InvocationContext } from './invocation-context.ts';
import { memoryOf } from './memory-access.ts';
import { type ContextOrigin, missingService } from './readonly-context.ts';

export { type ContextOrigin, ReadonlyContext } from './readonly-context.ts';

export interface ContextOptions {
  actions?: EventActions;
  functionCallId?: string;
  functionCallEventId?: string;
  toolConfirmation?: ToolConfirmation;
  inputResponse?: unknown;
  /** Number of questions of the call that have an answer; default 0. */
  answers?: number;
  /** Tells whether one of these answers is a sign-in; default: unknown. */
  hasSignIn?: boolean;
  /**
   * Number of times the work of the call began, including this time; default: the number of the invocation.
   */
  attempt?: number;
  /** The last progress of an earlier attempt. */
  lastProgress?: Record<string, unknown>;
  /** The subject for updates of the call; default: the subject of the invocation. */
  operationSubject?: string;
  /** Default: that of the invocation. */
  abortSignal?: AbortSignal;
  /** The credentials of the call; default none. */
  credentials?: CallCredentials;
}

/** The confirmation that a tool requests from a person. */
export interface ConfirmationRequest extends Omit<ToolConfirmation, 'confirmed' | 'payloadSchema'> {
  payloadSchema?: AnswerSchema;
}

/** The input that a tool requests from a person. */
export interface InputQuestion extends Omit<InputRequest, 'responseSchema'> {
  responseSchema?: AnswerSchema;
}

const confirmationNames: OptionNames<ConfirmationRequest> = {
  hint: true,
  payload: true,
  payloadSchema: true,
  confirmableBy: true,
  answerWithinMs: true,
  within: true,
};
const questionNames: OptionNames<InputQuestion> = {
  message: true,
  payload: true,
  responseSchema: true,
  within: true,
};

/**
 * The context of a tool or a callback: state and actions that it may write, the services, and the current
 * call.
 */
export class Context extends ArtifactContext {
  override readonly actions: EventActions;
  /** Id of the function call: the idempotency key for all external effects of the tool. */
  readonly functionCallId: string | undefined;
  /** Id of the event that made the call. */
  readonly functionCallEventId: string | undefined;
  /** The person's answer to a requested confirmation. */
  toolConfirmation: ToolConfirmation | undefined;
  /**
   * The person's last answer to a requested input: a text, or a value that fits the schema of the question.
   */
  readonly inputResponse: unknown;
  /** Number of questions of the call that have an answer. The call runs again with each answer. */
  readonly answers: number;
  /** Tells whether one of these answers is a sign-in; undefined when it is unknown. */
  readonly hasSignIn: boolean | undefined;
  /** For the framework only; tools use {@link getAuthResponse} and {@link requestCredential}. */
  get credentials(): CallCredentials {
    this.#credentials ??= new CallCredentials();
    return this.#credentials;
  }
  #credentials: CallCredentials | undefined;
  readonly #state: State;
  readonly #options: ContextOptions;

  constructor(origin: ContextOrigin, options: ContextOptions = {}) {
    super(origin);
    this.actions = options.actions ?? createEventActions();
    this.functionCallId = options.functionCallId;
    this.functionCallEventId = options.functionCallEventId;
    this.toolConfirmation = options.toolConfirmation;
    this.inputResponse = options.inputResponse;
    this.answers = options.answers ?? 0;
    this.hasSignIn = options.hasSignIn;
    this.#credentials = options.credentials;
    this.#state = new State(origin.session.state, this.actions.stateDelta);
    this.#options = options;
  }

  /** Returns this context with another signal, other options, or another invocation. */
  with({ invocation, ...options }: ContextOptions & { invocation?: InvocationContext }): Context {
    const origin = invocation ? { ...this.origin, invocation } : this.origin;
    const { actions, credentials } = this;
    return new Context(origin, { ...this.#options, actions, credentials, ...options });
  }

  override get state(): State {
    return this.#state;
  }

  /**
   * Number of times the work began, including this time: more than 1 after a crash. The tool may have done
   * its work before, under the same {@link functionCallId}. For a long-running tool in a process of its own,
   * this is the number of times its job began. For other tools in a process of their own the number is always
   * 1, because these tools keep results by call id.
   */
  get attempt(): number {
    return this.#options.attempt ?? this.origin.invocation?.attempt ?? 1;
  }

  /** The last progress that a long-running tool yielded in an earlier attempt, whose process died. */
  get lastProgress(): Record<string, unknown> | undefined {
    return this.#options.lastProgress;
  }

  /**
   * The NATS subject for updates and the outcome of this long-running call, as JSON: `{"final": true,
   * "response": {…}}`. The program that finishes the work later publishes there. Undefined outside of a mesh.
   */
  get operationSubject(): string | undefined {
    const { operationSubject, functionCallId } = this.#options;
    if (operationSubject !== undefined || functionCallId === undefined) return operationSubject;
    return this.origin.invocation?.operationSubject?.(functionCallId);
  }

  /** ADK's second name for {@link actions}. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /**
   * The signal that is aborted when the invocation is cancelled, its deadline passes, or the tool reaches its
   * time limit.
   */
  get abortSignal(): AbortSignal | undefined {
    return this.#options.abortSignal ?? this.origin.abortSignal;
  }

  /**
   * Searches all sessions of the user that were added to memory. Returns the best matches first, ten by
   * default.
   */
  async searchMemory(query: string, { limit }: { limit?: number } = {}): Promise<SearchMemoryResponse> {
    return await memoryOf(this).search(query, limit);
  }

  /**
   * Adds the events of this session to memory, except events that are already there. Not available for tools
   * in a process of their own.
   */
  async addSessionToMemory(): Promise<void> {
    await memoryOf(this).addSession();
  }

  /** Adds events of this session. */
  async addEventsToMemory(events: readonly Event[], customMetadata?: Record<string, unknown>): Promise<void> {
    await memoryOf(this).addEvents(events, customMetadata);
  }

  /** Adds memories that belong to no session. */
  async addMemory(memories: AddMemoryRequest['memories']): Promise<void> {
    await memoryOf(this).add(memories);
  }

  /**
   * Asks a person to confirm the call. The tool then returns without a result, and the run ends. Some process
   * runs the call again with the answer in {@link toolConfirmation}.
   *
   * @param request `hint`: the text of the question; `payload`: a value that the person may change, and that
   * the answer returns as changed; `payloadSchema`: the schema of that value; an answer that does not fit it
   * is refused; `confirmableBy`: the people who may answer
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` for a schema that
   * cannot be sent
   */
  requestConfirmation(request: ConfirmationRequest = {}): void {
    assertOptions('requestConfirmation', request, confirmationNames);
    const { hint, payload, payloadSchema, answerWithinMs, confirmableBy, within } = request;
    this.actions.requestedToolConfirmations[this.#call('requestConfirmation')] = {
      ...(hint !== undefined && { hint }),
      confirmed: false,
      ...(payload !== undefined && { payload }),
      ...(payloadSchema && { payloadSchema: toAnswerSchema(payloadSchema, 'payloadSchema') }),
      ...(answerWithinMs !== undefined && { answerWithinMs }),
      ...(confirmableBy && { confirmableBy: readConfirmableBy('requestConfirmation', confirmableBy) }),
      ...(within && { within }),
    };
  }

  /**
   * Asks a person for input. The tool then returns without a result, and the run ends. Some process runs the
   * call again with the answer in {@link inputResponse}.
   *
   * @param question `message`: the text of the question; `payload`: data for the program that shows the
   * question; `responseSchema`: the schema of the answer; an answer that does not fit it is refused
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` for a schema that
   * cannot be sent
   */
  requestInput(question: InputQuestion): void {
    assertOptions('requestInput', question, questionNames);
    const { message, payload, responseSchema, within } = question;
    const { actions } = this;
    actions.requestedInputs = {
      ...actions.requestedInputs,
      [this.#call('requestInput')]: {
        message,
        ...(payload !== undefined && { payload }),
        ...(responseSchema && { responseSchema: toAnswerSchema(responseSchema, 'responseSchema') }),
        ...(within && { within }),
      },
    };
  }

  /**
   * Requests a credential of the user. The tool then returns an interim result. If the credential is
   * available without a person (it was saved before, or it belongs to the application), the tool runs again
   * at once and the interim result is dropped. Otherwise, or when the tool received that credential already
   * and requests it again, a person is asked and the call runs again with the answer. In both cases the tool
   * reads the credential with {@link getAuthResponse}. Secrets of the configuration are never sent to the
   * client.
   *
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` without a credential
   * key
   */
  requestCredential(authConfig: AuthConfig): void {
    const call = this.#call('requestCredential');
    if (!authConfig.credentialKey)
      throw new MeshError(
        'invalid_argument',
        'requestCredential needs a credentialKey to keep the answer under',
      );
    this.credentials.requestedConfig = authConfig;
    this.actions.requestedAuthConfigs[call] = shownRequest(authConfig);
  }

  /**
   * Returns the credential that was fetched for this call before the tool ran; undefined before the tool has
   * requested it.
   */
  getAuthResponse({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): AuthCredential | undefined {
    return this.credentials.get(credentialKey);
  }

  /**
   * The session of the run to which this call belongs: that of the first caller, when an agent works as a tool in
   * a child session.
   */
  get homeSessionId(): string {
    return this.services.artifactService?.sessionId ?? this.sessionId;
  }

  /** Loads the user's saved credential, expired or not. Returns undefined when there is none. */
  async loadCredential(authConfig: AuthConfig): Promise<AuthCredential | undefined> {
    return await this.#credentialService().loadCredential(authConfig, this);
  }

  /** Saves `exchangedAuthCredential` for the user, under `credentialKey`. */
  async saveCredential(authConfig: AuthConfig): Promise<void> {
    await this.#credentialService().saveCredential(authConfig, this);
  }

  #credentialService(): CredentialService {
    const { credentialService } = this.services;
    if (credentialService) return credentialService;
    throw missingService('credentialService');
  }

  #call(what: string): string {
    if (this.functionCallId !== undefined) return this.functionCallId;
    throw new MeshError('failed_precondition', `${what} works only within a tool call`);
  }
}
