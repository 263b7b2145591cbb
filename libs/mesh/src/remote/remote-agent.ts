import {
  BaseAgent,
  type BaseAgentConfig,
  type Context,
  type InvocationContext,
  type ToolParameters,
} from '@agentmesh/agent';
import {
  type AgentAnswer,
  type Askable,
  forwardEvents,
  type HeldStep,
  hear,
  heldStep,
  type InvocationRef,
  loggedSeq,
  newFunctionCallId,
  stateForAsk,
  unreadBefore,
} from '@agentmesh/agent/internal';
import {
  type Answer,
  type AskInput,
  answerSchema,
  assertOptions,
  type Event,
  eventSchema,
  MeshError,
  parse,
} from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { artifactSessionOf } from '../artifacts/artifact-session.ts';
import { agentCard } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { askPart } from '../messages/ask-part.ts';
import { askHeaders } from '../messages/carrier.ts';
import { type Callee, callService, isUnanswered } from './call-service.ts';
import { meshBinding } from './mesh-binding.ts';

/** An agent that runs in another process. Only its name is known here; its card has the other facts. */
export class RemoteAgent extends BaseAgent implements Askable {
  readonly mesh = meshBinding(`agent ${this.name}`);

  constructor(name: string) {
    super({ name });
  }

  /**
   * Makes another object for the same agent. The process that serves the agent decides about its options.
   * @throws MeshError `invalid_argument` for overrides
   */
  override clone(overrides: Partial<BaseAgentConfig> = {}): this {
    assertOptions(`clone of agent ${this.name}`, overrides, {});
    return Reflect.construct(this.constructor, [this.name]);
  }

  override get description(): string {
    const mesh = this.mesh.maybe();
    return (mesh && agentCard(mesh, this.name)?.description) ?? '';
  }

  /** The input schema of its card. */
  get inputParameters(): ToolParameters | undefined {
    const mesh = this.mesh.maybe();
    return mesh && agentCard(mesh, this.name)?.inputSchema;
  }

  override get isRemote(): boolean {
    return true;
  }

  /** Always false: the agent's own process knows whether it orchestrates, and notes the paths. */
  override get orchestrates(): boolean {
    return false;
  }

  override get hasOwnCode(): boolean {
    return false;
  }

  /** Asks the agent on behalf of a tool call; the agent works in the child session of the call. */
  async ask(message: Content, toolContext: Context): Promise<AgentAnswer> {
    const mesh = this.mesh.get();
    const {
      invocationContext,
      abortSignal,
      toolConfirmation,
      inputResponse,
      functionCallId: callId = newFunctionCallId(),
    } = toolContext;
    const ask: AskInput = {
      message,
      ...(toolConfirmation && { confirmation: toolConfirmation }),
      ...(inputResponse !== undefined && { input: inputResponse }),
      state: stateForAsk(toolContext),
      parent: {
        ...artifactSessionOf(toolContext.services),
        app: toolContext.appName,
        user: toolContext.userId,
        session: toolContext.sessionId,
        invocationId: toolContext.invocationId,
        agent: toolContext.agentName,
        callId,
      },
      ...(invocationContext && { runConfig: invocationContext.runConfig }),
    };
    const headers = askHeaders(invocationContext?.carrier ?? {});
    const ids = { callId, invocationId: toolContext.invocationId };
    const callee = { ...this.#callee(mesh, ids), hasEffects: true };
    const options = { headers, ...(abortSignal && { signal: abortSignal }) };
    const observe = invocationContext?.observe;
    const forward = observe && forwardEvents(callId, observe);
    try {
      for await (const frame of callService(mesh, callee, ask, options)) {
        if (frame.type === 'event')
          forward?.(parse(eventSchema, frame.data, `an event of agent ${this.name}`));
        if (frame.type === 'result')
          return answerFrom(parse(answerSchema, frame.data, `the answer of agent ${this.name}`));
      }
      throw new MeshError('unavailable', `agent ${this.name} ended without an answer`);
    } catch (thrown) {
      const { appName, userId, invocationId } = toolContext;
      const ref = { appName, userId, sessionId: callId, invocationId };
      await this.#giveUp(mesh, ref, askPart(this.name, ask, headers), MeshError.from(thrown));
      throw thrown;
    }
  }

  /**
   * Closes an ask for whose answer nobody waits any more: a paused process may find its request later, and an
   * attempt that has begun may go on. An ask whose caller stops, or was taken over, will be asked again.
   */
  async #giveUp(mesh: Mesh, ref: InvocationRef, part: string, error: MeshError): Promise<void> {
    const isOver = ['cancelled', 'deadline_exceeded'].includes(error.code);
    if (!isOver && !isUnanswered(error)) return;
    try {
      await mesh.sessions.invocations.closePart(ref, part);
    } catch (cause) {
      mesh.log.warn({ err: cause, agent: this.name, callId: ref.sessionId }, 'could not give an ask up');
    }
  }

  #callee(mesh: Mesh, ids: Record<string, unknown>): Callee {
    return {
      ids,
      subject: mesh.subjects.agentDelegate(this.name),
      target: { to: this.name, kind: 'agent' },
      isKnown: () => agentCard(mesh, this.name) !== undefined,
    };
  }

  /**
   * Runs the agent as a step of a workflow agent. The agent works in the same session, in its own process,
   * and commits its events itself. Below user code, which may hold back or change events, this process
   * commits the events instead, and each step is a separate request ({@link heldStep}).
   */
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (!context.isUnderOwnCode) {
      yield* this.#step(context);
      return;
    }
    const heldEvents: ReturnType<typeof hear>[] = [];
    for (let request = 0; ; request += 1) {
      let more = false;
      const knownIds = new Set(heldEvents.map(({ event }) => event.id));
      let hasStepped = false;
      for await (const event of this.#step(context, heldStep(context, request, heldEvents), (answer) => {
        more = answer.more === true;
      })) {
        if (!event.partial) {
          heldEvents.push(hear(context, event));
          hasStepped ||= !knownIds.has(event.id);
        }
        context.noteFromElsewhere(event);
        yield event;
      }
      if (!more) return;
      if (!hasStepped) throw standsStill(this.name);
    }
  }

  async *#step(
    context: InvocationContext,
    held?: HeldStep,
    onAnswer: (answer: Answer) => void = () => {},
  ): AsyncGenerator<Event, void, void> {
    const mesh = this.mesh.get();
    const { invocationId, branch, path, journalStart, runConfig, abortSignal } = context;
    const ask: AskInput = {
      message: context.userContent ?? { role: 'user', parts: [] },
      runConfig,
      step: {
        ...artifactSessionOf(context),
        app: context.appName,
        user: context.userId,
        session: context.session.id,
        invocationId,
        journalStart: unreadBefore(context.session) + journalStart,
        afterSeq: loggedSeq(context.session, context.held),
        ...(held && { held }),
        ...(branch !== undefined && { branch }),
        ...(path !== undefined && { path }),
      },
    };
    const frames = callService(mesh, this.#callee(mesh, { invocationId }), ask, {
      headers: askHeaders(context.carrier),
      ...(abortSignal && { signal: abortSignal }),
    });
    for await (const frame of frames) {
      if (frame.type === 'event') yield this.#readEvent(frame.data);
      if (frame.type === 'result')
        onAnswer(parse(answerSchema, frame.data, `the answer of agent ${this.name}`));
    }
  }

  /**
   * Reads an event of a step. @throws MeshError `permission_denied` for an event in the user's name: this
   * process would commit it as the user's words
   */
  #readEvent(data: unknown): Event {
    const event = parse(eventSchema, data, `an event of agent ${this.name}`);
    if (event.author !== 'user') return event;
    throw new MeshError('permission_denied', `agent ${this.name} sent an event in the user's name`);
  }
}

/**
 * The error for an agent that claims to have more to do without doing anything: a further request would get
 * the same answer for ever.
 */
function standsStill(name: string): MeshError {
  return new MeshError(
    'internal',
    `agent ${name} says that it has more to do, but did nothing new; update its service`,
  );
}

function answerFrom({ text, output, stateDelta, artifactDelta, openCalls }: Answer): AgentAnswer {
  return {
    text,
    stateDelta,
    artifactDelta,
    ...(output !== undefined && { output }),
    ...(openCalls && { openCalls }),
  };
}

/**
 * Returns an agent that another process serves under this name. Use it wherever an agent goes: in
 * `AgentTool`, among `subAgents`. The agent needs no other configuration: the mesh finds it by its card.
 */
export function remoteAgent(name: string): RemoteAgent {
  return new RemoteAgent(name);
}
