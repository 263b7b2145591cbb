import {
  type AgentAnswer,
  type Askable,
  BaseAgent,
  type Context,
  type InvocationContext,
  newFunctionCallId,
  pickScopes,
} from '@agentmesh/agent';
import { type AskInput, answerSchema, type Event, eventSchema, parse } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { binding } from './binding.ts';
import { askHeaders } from './hop.ts';
import { agentCard } from './mesh.ts';
import { requestFrames, requestResult } from './request.ts';

/** An agent that runs in another process; its name is all that is known here, its card tells the rest. */
export class RemoteAgent extends BaseAgent implements Askable {
  readonly mesh = binding(`agent ${this.name}`);

  constructor(name: string) {
    super({ name });
  }

  override get description(): string {
    const mesh = this.mesh.maybe();
    return (mesh && agentCard(mesh, this.name)?.description) ?? '';
  }

  override get isRemote(): boolean {
    return true;
  }

  /** Asks the agent on behalf of a tool call; it works in a hidden session that belongs to the call. */
  async ask(message: Content, toolContext: Context): Promise<AgentAnswer> {
    const mesh = this.mesh.get();
    const { invocationContext, abortSignal, state } = toolContext;
    const ask: AskInput = {
      message,
      state: pickScopes(state.toRecord(), ['session']),
      parent: {
        app: toolContext.appName,
        user: toolContext.userId,
        session: toolContext.sessionId,
        invocationId: toolContext.invocationId,
        agent: toolContext.agentName,
        callId: toolContext.functionCallId ?? newFunctionCallId(),
      },
      ...(invocationContext && { runConfig: invocationContext.runConfig }),
    };
    const result = await requestResult(mesh, mesh.subjects.agentAsk(this.name), ask, {
      headers: askHeaders(invocationContext?.carrier ?? {}),
      ...(abortSignal && { signal: abortSignal }),
    });
    const { text, stateDelta } = parse(answerSchema, result, `the answer of agent ${this.name}`);
    return { text, stateDelta };
  }

  /** As a step of a workflow agent: it works in the same session there and commits its events itself. */
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const mesh = this.mesh.get();
    const { invocationId, branch, journalStart, runConfig, abortSignal } = context;
    const ask: AskInput = {
      message: context.userContent ?? { role: 'user', parts: [] },
      runConfig,
      step: {
        app: context.appName,
        user: context.userId,
        session: context.session.id,
        invocationId,
        journalStart,
        ...(branch !== undefined && { branch }),
      },
    };
    const frames = requestFrames(mesh, mesh.subjects.agentAsk(this.name), ask, {
      headers: askHeaders(context.carrier),
      ...(abortSignal && { signal: abortSignal }),
    });
    for await (const frame of frames) {
      if (frame.type === 'event') yield parse(eventSchema, frame.data, `an event of agent ${this.name}`);
    }
  }
}

/**
 * An agent that is served by another process under this name. Use it wherever an agent goes: in `AgentTool`, among `subAgents`. Nothing
 * else is configured: it is found by its card.
 */
export function remoteAgent(name: string): RemoteAgent {
  return new RemoteAgent(name);
}
