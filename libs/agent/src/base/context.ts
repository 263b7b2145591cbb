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
  /** How many questions of the call were answered so far; default 0. */
  answers?: number;
  /** How often the work of the call was begun, this time counted; default: that of the invocation. */
  attempt?: number;
  /** What an attempt before this one said last. */
  lastProgress?: Record<string, unknown>;
  /** Where updates of the call are published; default: as the invocation has it. */
  operationSubject?: string;
  /** Default: that of the invocation. */
  abortSignal?: AbortSignal;
  /** What the call was given; default nothing. */
  credentials?: CallCredentials;
}

/** What a tool asks a person to confirm. */
export interface ConfirmationRequest extends Omit<ToolConfirmation, 'confirmed' | 'payloadSchema'> {
  payloadSchema?: AnswerSchema;
}

/** What a tool asks a person to tell it. */
export interface InputQuestion extends Omit<InputRequest, 'responseSchema'> {
  responseSchema?: AnswerSchema;
}

const confirmationNames: OptionNames<ConfirmationRequest> = {
  hint: true,
  payload: true,
  payloadSchema: true,
  answerWithinMs: true,
  within: true,
};
const questionNames: OptionNames<InputQuestion> = {
  message: true,
  payload: true,
  responseSchema: true,
  within: true,
};

/** What tools and callbacks get: state they may write, actions they may set, the services, and the call they serve. */
export class Context extends ArtifactContext {
  override readonly actions: EventActions;
  /** Id of the function call: the idempotency key of everything the tool does outside. */
  readonly functionCallId: string | undefined;
  /** Id of the event that made the call. */
  readonly functionCallEventId: string | undefined;
  /** What a person said to the call, once it was asked for. */
  toolConfirmation: ToolConfirmation | undefined;
  /** What a person told the call last, once it was asked for: words, or a value that fits the schema of the question. */
  readonly inputResponse: unknown;
  /** How many questions of the call were answered so far: with each answer the call is made anew. */
  readonly answers: number;
  /** For the framework; tools use {@link getAuthResponse} and {@link requestCredential}. */
  readonly credentials: CallCredentials;
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
    this.credentials = options.credentials ?? new CallCredentials();
    this.#state = new State(origin.session.state, this.actions.stateDelta);
    this.#options = options;
  }

  /** The same context under another signal, or in an invocation that differs in some way. */
  with({ invocation, ...options }: ContextOptions & { invocation?: InvocationContext }): Context {
    const origin = invocation ? { ...this.origin, invocation } : this.origin;
    const { actions, credentials } = this;
    return new Context(origin, { ...this.#options, actions, credentials, ...options });
  }

  override get state(): State {
    return this.#state;
  }

  /**
   * How often the work that this belongs to was begun, this time counted: more than 1 after a crash. A tool may have done its work before, under
   * the same {@link functionCallId}. Of a long-running tool in a process of its own it is how often its job was begun; of others there it is always 1, as
   * they keep results by call id.
   */
  get attempt(): number {
    return this.#options.attempt ?? this.origin.invocation?.attempt ?? 1;
  }

  /** What the attempt before this one yielded last, of a long-running tool whose process died at it. */
  get lastProgress(): Record<string, unknown> | undefined {
    return this.#options.lastProgress;
  }

  /**
   * The NATS subject on which whoever finishes the work of this long-running call later publishes its updates and its outcome, as JSON:
   * `{"final": true, "response": {…}}`. Undefined outside of a mesh.
   */
  get operationSubject(): string | undefined {
    const { operationSubject, functionCallId } = this.#options;
    if (operationSubject !== undefined || functionCallId === undefined) return operationSubject;
    return this.origin.invocation?.operationSubject?.(functionCallId);
  }

  /** ADK's other name of {@link actions}. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /** Aborted when the invocation is cancelled, its deadline is over, or the tool has taken too long. */
  get abortSignal(): AbortSignal | undefined {
    return this.#options.abortSignal ?? this.origin.abortSignal;
  }

  /** What the user said that fits the query, in this session or others that were added to memory: best first, ten by default. */
  async searchMemory(query: string, { limit }: { limit?: number } = {}): Promise<SearchMemoryResponse> {
    return await memoryOf(this).search(query, limit);
  }

  /** Adds this session, as it is now, to what is found in others; added again, only what is new. Not for tools in a process of their own. */
  async addSessionToMemory(): Promise<void> {
    await memoryOf(this).addSession();
  }

  /** Adds events of this session. */
  async addEventsToMemory(events: readonly Event[], customMetadata?: Record<string, unknown>): Promise<void> {
    await memoryOf(this).addEvents(events, customMetadata);
  }

  /** Adds what belongs to no session. */
  async addMemory(memories: AddMemoryRequest['memories']): Promise<void> {
    await memoryOf(this).add(memories);
  }

  /**
   * Asks a person to confirm the call. The tool then returns; the call has no result yet, and the run ends. It is made again with the answer as
   * {@link toolConfirmation}, in whatever process.
   *
   * @param request `hint`: what is asked, in words; `payload`: what the person may change, the answer has it as it was changed; `payloadSchema`: what
   * it must fit then, an answer that does not is refused
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` for a schema that cannot be sent
   */
  requestConfirmation(request: ConfirmationRequest = {}): void {
    assertOptions('requestConfirmation', request, confirmationNames);
    const { hint, payload, payloadSchema, answerWithinMs, within } = request;
    this.actions.requestedToolConfirmations[this.#call('requestConfirmation')] = {
      ...(hint !== undefined && { hint }),
      confirmed: false,
      ...(payload !== undefined && { payload }),
      ...(payloadSchema && { payloadSchema: toAnswerSchema(payloadSchema, 'payloadSchema') }),
      ...(answerWithinMs !== undefined && { answerWithinMs }),
      ...(within && { within }),
    };
  }

  /**
   * Asks a person to tell something. The tool then returns; the call has no result yet, and the run ends. It is made again with the answer as
   * {@link inputResponse}, in whatever process.
   *
   * @param question `message`: what is asked, in words; `payload`: anything that whoever shows it may need; `responseSchema`: what the answer must
   * fit, one that does not is refused
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` for a schema that cannot be sent
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
   * Asks for a credential of the user. The tool then returns what is to be said meanwhile. Where the credential can be had without a person, because
   * it was saved before or is the application's own, the tool is run again at once and what it returned is dropped. Otherwise, or when it was
   * given that one already and asks again, a person is asked, and the call is made again with the answer. Either way it finds the credential by
   * {@link getAuthResponse}. No secret of the configuration goes to the client.
   *
   * @throws MeshError `failed_precondition` outside of a tool call; `invalid_argument` without a credential key
   */
  requestCredential(authConfig: AuthConfig): void {
    const call = this.#call('requestCredential');
    if (!authConfig.credentialKey)
      throw new MeshError(
        'invalid_argument',
        'requestCredential needs a credentialKey to keep the answer under',
      );
    this.credentials.wanted = authConfig;
    this.actions.requestedAuthConfigs[call] = shownRequest(authConfig);
  }

  /** The credential that was fetched for this call before the tool ran; undefined as long as it has not asked for it. */
  getAuthResponse({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): AuthCredential | undefined {
    return this.credentials.get(credentialKey);
  }

  /** The user's credential as it was saved, expired or not; undefined when there is none. */
  async loadCredential(authConfig: AuthConfig): Promise<AuthCredential | undefined> {
    return await this.#credentialService().loadCredential(authConfig, this);
  }

  /** Keeps `exchangedAuthCredential` for the user, under `credentialKey`. */
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
    throw new MeshError('failed_precondition', `${what} is for tools: there is no call that could wait`);
  }
}
