import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from './base-agent.ts';
import type { LlmRequest, LlmResponse } from './base-llm.ts';
import type { BaseTool } from './base-tool.ts';
import type { Context } from './context.ts';
import type { InvocationContext } from './invocation-context.ts';

type ToolResponse = Record<string, unknown>;
interface ToolCall {
  tool: BaseTool;
  toolArgs: Record<string, unknown>;
  toolContext: Context;
}

interface Compaction {
  invocationContext: InvocationContext;
  /** The trigger of a summary: always automatic here; ADK has other triggers too. */
  trigger: 'Auto';
}

/**
 * The base class of plugins: a plugin sees and may change what every agent of a runner does. When one plugin
 * returns a value from a hook, the next plugins and the agent's own callback of that kind are not called. A
 * hook that throws ends the run.
 */
export abstract class BasePlugin {
  readonly name: string;

  /** @throws MeshError `invalid_argument` without a name */
  constructor(name: string) {
    if (typeof name !== 'string' || name === '')
      throw new MeshError('invalid_argument', 'a plugin needs a name: its first argument, a text');
    this.name = name;
  }

  /** May replace the user's message before it is committed. */
  async onUserMessageCallback(_params: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    return undefined;
  }

  /** Returns content to answer without running an agent. */
  async beforeRunCallback(_params: { invocationContext: InvocationContext }): Promise<Content | undefined> {
    return undefined;
  }

  /** May replace an event before it is committed. The event keeps its id, invocation and time. */
  async onEventCallback(_params: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    return undefined;
  }

  async afterRunCallback(_params: { invocationContext: InvocationContext }): Promise<void> {}

  async beforeAgentCallback(_params: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    return undefined;
  }

  async afterAgentCallback(_params: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    return undefined;
  }

  /** Returns the tools that the model may use in this step. */
  async beforeToolSelection(_params: {
    callbackContext: Context;
    tools: Readonly<Record<string, BaseTool>>;
  }): Promise<Readonly<Record<string, BaseTool>> | undefined> {
    return undefined;
  }

  async beforeModelCallback(_params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  async afterModelCallback(_params: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  async onModelErrorCallback(_params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
    error: Error;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  /**
   * Runs before a summary of the conversation is made. It does not run for a prompt that is only truncated.
   */
  async beforeContextCompaction(_params: Compaction): Promise<void> {}

  /** Runs when the summary is made, or when the summarizing model has failed. */
  async afterContextCompaction(_params: Compaction): Promise<void> {}

  async beforeToolCallback(_params: ToolCall): Promise<ToolResponse | undefined> {
    return undefined;
  }

  async afterToolCallback(_params: ToolCall & { result: ToolResponse }): Promise<ToolResponse | undefined> {
    return undefined;
  }

  async onToolErrorCallback(_params: ToolCall & { error: Error }): Promise<ToolResponse | undefined> {
    return undefined;
  }
}
