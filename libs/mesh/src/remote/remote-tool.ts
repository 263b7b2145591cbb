import { BaseTool, type Context, type RunToolRequest } from '@agentmesh/agent';
import { FirstWord, newFunctionCallId } from '@agentmesh/agent/internal';
import type { ReceivedFrame } from '@agentmesh/bus';
import {
  assertKnownFields,
  assertOptions,
  MeshError,
  nearest,
  type OptionNames,
  parse,
  type ToolCall,
  type ToolResult,
  toolReplySchema,
  toolResultSchema,
} from '@agentmesh/protocol';
import type { FunctionDeclaration } from '@google/genai';
import { artifactSessionOf } from '../artifacts/artifact-session.ts';
import { giveUp } from '../calls/give-up.ts';
import { toolCard } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { auditActions } from '../messages/audit.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { readWrites, type SharedScope, sortActions } from '../messages/tool-actions.ts';
import { callService, isUnanswered } from './call-service.ts';
import { meshBinding } from './mesh-binding.ts';

/** Returns the error of a call that no replica has begun. */
function givenUpError({ code, message, cause }: MeshError): MeshError {
  const first = message.split(';')[0];
  return new MeshError(code, `${first}; the call was given up before a replica began it`, { cause });
}

export interface RemoteToolOptions {
  /** The shared scopes of state that the tool may write: `user`, `app`; default none. */
  writes?: readonly SharedScope[];
}

const optionNames: OptionNames<RemoteToolOptions> = { writes: true };

/** A tool that runs in another process; its card has its declaration. */
export class RemoteTool extends BaseTool {
  /** True while no card of the tool is there and the log says so. */
  #isMissing = false;
  readonly mesh = meshBinding(`tool ${this.name}`);
  /** The scopes of state that the tool may write, beside the session's. */
  readonly writes: readonly SharedScope[];

  /** Makes the tool. @throws MeshError `invalid_argument` for an unknown option or scope */
  constructor(name: string, options: RemoteToolOptions = {}) {
    super({ name, description: '' });
    assertOptions(`remoteTool ${name}`, options, optionNames);
    this.writes = readWrites(`remoteTool ${name}`, options.writes);
  }

  override get description(): string {
    return this.#card()?.description ?? '';
  }

  override get isLongRunning(): boolean {
    return this.#card()?.longRunning ?? false;
  }

  override get answerWithinMs(): number | undefined {
    return this.#card()?.answerWithinMs;
  }

  override get isRemote(): boolean {
    return true;
  }

  /** Always true: the service of the tool keeps results by call id. */
  override get isIdempotent(): boolean {
    return true;
  }

  /**
   * Returns the declaration of the tool's card. While the mesh does not know the tool, returns undefined, so
   * that the model does not see it; the first time is logged.
   */
  override getDeclaration(): FunctionDeclaration | undefined {
    const card = this.#card();
    const mesh = this.mesh.maybe();
    if (mesh && !card && !this.#isMissing) {
      const meant = nearest(
        this.name,
        mesh.bus.directory.list('tool').map(({ name }) => name),
      );
      mesh.log.warn(
        { tool: this.name, meant },
        'nobody serves a tool that a turn uses: its model does not see it',
      );
    }
    this.#isMissing = mesh !== undefined && !card;
    return card?.declaration;
  }

  override async runAsync(request: RunToolRequest): Promise<unknown> {
    return this.#call(this.mesh.get(), request);
  }

  /** Calls the tool's service and yields its progress. */
  async *#call(mesh: Mesh, { args, toolContext }: RunToolRequest): AsyncGenerator<unknown, unknown, void> {
    const { abortSignal, invocationContext, userContent, toolConfirmation } = toolContext;
    const { inputResponse, answers, hasSignIn, functionCallId, functionCallEventId } = toolContext;
    const operationSubject =
      functionCallId === undefined
        ? undefined
        : invocationContext?.operationSubject?.(functionCallId, this.name);
    const call: ToolCall & { callId: string } = {
      callId: functionCallId ?? newFunctionCallId(),
      args,
      answers,
      ...(hasSignIn !== undefined && { hasSignIn }),
      ...(functionCallEventId !== undefined && { callEventId: functionCallEventId }),
      ...(toolConfirmation && { toolConfirmation }),
      ...(inputResponse !== undefined && { inputResponse }),
      context: {
        ...artifactSessionOf(toolContext.services),
        app: toolContext.appName,
        user: toolContext.userId,
        session: toolContext.sessionId,
        invocationId: toolContext.invocationId,
        agent: toolContext.agentName,
        state: toolContext.state.toRecord(),
        ...(userContent && { userContent }),
        ...(operationSubject !== undefined && { operationSubject }),
      },
    };
    const callee = {
      subject: mesh.subjects.toolCall(this.name),
      target: { to: this.name, kind: 'tool' as const },
      ids: {
        callId: call.callId,
        invocationId: toolContext.invocationId,
        session: toolContext.sessionId,
        agent: toolContext.agentName,
      },
      isKnown: () => this.#card() !== undefined,
      hasEffects: true,
    };
    const options = {
      headers: hopHeaders(invocationContext?.carrier ?? {}),
      ...(abortSignal && { signal: abortSignal }),
    };
    const told = { count: 0 };
    const note = await this.#note(mesh, call);
    try {
      for (;;) {
        let result: ToolResult | undefined;
        try {
          result = yield* this.#request(mesh, callService(mesh, callee, call, options), told);
        } catch (thrown) {
          result = await this.#giveUp(mesh, call, MeshError.from(thrown), abortSignal);
        }
        // The work of a long-running call goes on until the call has its outcome.
        if (result && this.isLongRunning && result.isLastWord === false) note.keep();
        if (result) return this.#take(mesh, result, call.callId, toolContext);
      }
    } finally {
      note.drop();
    }
  }

  /**
   * Notes the call of a tool that uses files or credentials, before the tool gets the call: keepers give a tool only
   * those of its noted calls. A tool without a card may use both.
   */
  async #note({ sessions, log }: Mesh, { callId, context }: ToolCall & { callId: string }) {
    const card = this.#card();
    let isKept = card !== undefined && !card.usesArtifacts && !card.usesCredentials;
    const {
      app: appName = '',
      user: userId = '',
      session: sessionId = '',
      invocationId = '',
    } = context ?? {};
    const ref = { appName, userId, sessionId, invocationId };
    if (!isKept) await sessions.invocations.noteCall(ref, { id: callId, tool: this.name });
    return {
      keep() {
        isKept = true;
      },
      drop: () => {
        if (isKept) return;
        // The result need not wait: the note is gone with the run at the latest.
        sessions.invocations.dropCall(ref, callId).catch((error: unknown) => {
          log.debug({ err: error, tool: this.name, callId }, 'could not remove the note of a call');
        });
      },
    };
  }

  /**
   * Yields the progress of a call, and returns its result.
   *
   * @param told the number of progress messages that earlier requests of the call have yielded
   */
  async *#request(
    mesh: Mesh,
    frames: AsyncIterable<ReceivedFrame>,
    told: { count: number },
  ): AsyncGenerator<unknown, ToolResult, void> {
    let receivedCount = 0;
    for await (const frame of frames) {
      // Another replica answers, and repeats all progress from the start.
      if (frame.type === 'accepted') receivedCount = 0;
      if (frame.type === 'progress') {
        receivedCount += 1;
        if (receivedCount <= told.count) continue;
        told.count = receivedCount;
        yield frame.data;
      }
      if (frame.type === 'result') return this.#read(mesh, frame);
    }
    throw new MeshError('unavailable', `the answer of tool ${this.name} ended without a result`);
  }

  /**
   * Gives a call up when nobody answers it, or when its run is cancelled or too late. Returns the result of a
   * call that was carried out after all; undefined when a replica has begun the call and gives no sign of life:
   * then the call waits for it.
   *
   * @throws the error of the call
   */
  async #giveUp(
    mesh: Mesh,
    call: ToolCall & { callId: string },
    error: MeshError,
    signal: AbortSignal | undefined,
  ): Promise<ToolResult | undefined> {
    const isStopped = signal?.aborted && ['cancelled', 'deadline_exceeded'].includes(error.code);
    if (!isStopped && !isUnanswered(error)) throw error;
    const tool = { tool: this.name, isJob: this.isLongRunning };
    const given = await giveUp(mesh, tool, call, error).catch((cause: unknown) => {
      mesh.log.warn({ err: cause, tool: this.name, callId: call.callId }, 'could not give a call up');
    });
    if (signal?.aborted || !given) throw error;
    if (given.state === 'done') return given.result;
    if (given.state === 'given-up') throw givenUpError(error);
    // Without a replica there is nobody to wait for.
    if (error.details?.reason === 'no_responders') throw error;
    return undefined;
  }

  /** Reads a result. A program that is no process of the mesh must send known fields only, and a response. */
  #read({ log }: Mesh, { data, replica }: Pick<ReceivedFrame, 'replica'> & { data: unknown }): ToolResult {
    const what = `the reply of tool ${this.name}`;
    try {
      const result = parse(toolResultSchema, data, what);
      if (replica !== undefined) return result;
      assertKnownFields(toolReplySchema, data, what);
      if (result.response !== undefined || result.failed || result.actions || this.isLongRunning)
        return result;
      throw new MeshError('invalid_argument', `${what} has no response; reply with {"response": …}`);
    } catch (error) {
      log.warn({ err: error, tool: this.name }, 'a tool replied with an invalid result');
      throw error;
    }
  }

  /**
   * Applies the tool's own actions to this context and returns its response. @throws the error that the tool
   * threw
   */
  #take(mesh: Mesh, result: ToolResult, callId: string, toolContext: Context): unknown {
    const { response, isLastWord, failed, actions } = result;
    if (actions) {
      const asksSignIn = this.#card()?.usesCredentials ?? false;
      const { own, refused } = sortActions(actions, { callId, writes: this.writes, asksSignIn });
      const { stateDelta = {}, ...others } = own;
      toolContext.state.update(stateDelta);
      Object.assign(toolContext.actions, others);
      const { appName, userId, sessionId } = toolContext;
      auditActions(mesh, { tool: this.name, callId, refused, session: { appName, userId, sessionId } });
    }
    if (failed) throw failed.code === undefined ? new Error(failed.message) : MeshError.fromWire(failed);
    return isLastWord ? response : new FirstWord(response);
  }

  #card() {
    const mesh = this.mesh.maybe();
    return mesh && toolCard(mesh, this.name);
  }
}

/**
 * Returns a tool that another process serves under this name. The tool needs no other configuration: the mesh
 * finds it by its card. Its process may change the state of the session; `writes` adds the state of the user and of
 * the app, which other sessions and users share.
 */
export function remoteTool(name: string, options?: RemoteToolOptions): RemoteTool {
  return new RemoteTool(name, options);
}
