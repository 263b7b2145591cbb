import { type Event, MeshError, type RunConfig, runConfigSchema } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from './base-agent.ts';
import { BaseToolset } from './base-tool.ts';
import { newInvocationId } from './event.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';
import { runInvocation } from './invocation.ts';
import { LlmAgent } from './llm-agent.ts';
import type { SessionService } from './session-service.ts';

export interface RunnerConfig {
  appName: string;
  agent: BaseAgent;
  sessionService: SessionService;
}

export interface RunRequest {
  userId: string;
  sessionId: string;
  newMessage: Content;
  /** Written to the state with the user's message. */
  stateDelta?: Record<string, unknown>;
  runConfig?: Partial<RunConfig>;
  abortSignal?: AbortSignal;
}

/** Runs an agent and all below it in this process. */
export class Runner {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: SessionService;

  constructor({ appName, agent, sessionService }: RunnerConfig) {
    this.appName = appName;
    this.agent = agent;
    this.sessionService = sessionService;
  }

  /**
   * Gives the agent a message and yields what it does, each event after it was committed; the user's own message is not among them.
   *
   * @throws MeshError `not_found` for an unknown session; `invalid_argument` for a message without parts; what an agent's own code throws.
   */
  async *runAsync(request: RunRequest): AsyncGenerator<Event, void, void> {
    const { userId, sessionId, runConfig = {}, ...rest } = request;
    const { appName, agent, sessionService } = this;
    const session = await sessionService.getSession({ appName, userId, sessionId });
    if (!session)
      throw new MeshError('not_found', `there is no session ${sessionId} of user ${userId}; create it first`);
    const invocationId = newInvocationId();
    const ref = { appName, userId, sessionId, invocationId };
    let status: 'completed' | 'failed' = 'failed';
    try {
      const config = runConfigSchema.parse(runConfig);
      for await (const event of runInvocation({
        agent,
        session,
        sessionService,
        invocationId,
        runConfig: config,
        ...rest,
      })) {
        if (event.author !== 'user') yield event;
      }
      status = 'completed';
    } finally {
      await sessionService.endInvocation(ref, { status });
    }
  }

  /** Closes the toolsets of all agents. */
  async close(): Promise<void> {
    await closeToolsets(this.agent);
  }
}

/** Closes the toolsets of an agent and all below it. */
export async function closeToolsets(agent: BaseAgent): Promise<void> {
  const agents = [...agent.tree()].filter((each) => each instanceof LlmAgent);
  const toolsets = new Set(
    agents.flatMap(({ tools }) => tools).filter((tool) => tool instanceof BaseToolset),
  );
  await Promise.all([...toolsets].map((toolset) => toolset.close()));
}

/** A runner that keeps everything in memory: no server needed. */
export class InMemoryRunner extends Runner {
  constructor({ agent, appName = 'InMemoryRunner' }: { agent: BaseAgent; appName?: string }) {
    super({ agent, appName, sessionService: new InMemorySessionService() });
  }
}
