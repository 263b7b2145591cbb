import {
  type AgentAnswer,
  type Askable,
  BaseAgent,
  type Context,
  newFunctionCallId,
  pickScopes,
} from '@agentmesh/agent';
import { type AskInput, answerSchema, type Event, MeshError, parse } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { binding } from './binding.ts';
import { askHeaders } from './hop.ts';
import { agentCard } from './mesh.ts';
import { requestResult } from './request.ts';

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

  // biome-ignore lint/correctness/useYield: a transfer to a remote agent leaves the process; nothing of it runs here
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
    throw new MeshError(
      'failed_precondition',
      `agent ${this.name} runs in another process; it can be asked (AgentTool) or transferred to, not run here`,
    );
  }
}

/**
 * An agent that is served by another process under this name. Use it wherever an agent goes: in `AgentTool`, among `subAgents`. Nothing
 * else is configured: it is found by its card.
 */
export function remoteAgent(name: string): RemoteAgent {
  return new RemoteAgent(name);
}
