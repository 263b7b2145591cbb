import type * as agentmesh from '@agentmesh/agent';
import type { ModelReply } from '@agentmesh/testing';
import type { Content, FinishReason } from '@google/genai';

type Library = typeof agentmesh;

/**
 * The names that a scenario may use: those that ADK and agentmesh share, and access to the parts of the
 * scenario.
 */
export type Kit = Pick<
  Library,
  | 'SequentialAgent'
  | 'LoopAgent'
  | 'ParallelAgent'
  | 'EXIT_LOOP'
  | 'LlmAgent'
  | 'FunctionTool'
  | 'LongRunningFunctionTool'
  | 'AgentTool'
  | 'BaseAgent'
  | 'BasePlugin'
  | 'BaseTool'
  | 'BaseToolset'
  | 'GlobalInstructionPlugin'
  | 'TruncatingContextCompactor'
  | 'TokenBasedContextCompactor'
  | 'RoutedAgent'
  | 'UnsafeLocalCodeExecutor'
  | 'createEvent'
> & {
  /** Returns the name of an agent's model, whose answers come from the scenario's `script` for the agent. */
  model(agent: string): string;
  /**
   * Returns another part of the scenario: the object itself in one process, a remote one when each part has
   * its own process.
   */
  agent(name: string): agentmesh.BaseAgent;
  tool(name: string): agentmesh.BaseTool;
};

export type Part = agentmesh.BaseAgent | agentmesh.BaseTool;

/** One message of the user. A function gets the events so far. */
export type Turn =
  | string
  | Content
  | ((events: readonly SeenEvent[]) => Content)
  | { say: string; session?: string; stateDelta?: Record<string, unknown> };

/** A scenario: the same definitions, model answers and messages for all ways to run them. */
export interface Scenario {
  name: string;
  /** The section of ADK's semantics that it shows. */
  section: string;
  /** The agents and tools by name. On the mesh each of them is a process. */
  parts: Record<string, (kit: Kit) => Part>;
  /** The name of the root agent. */
  root: string;
  /** The answers of each agent's model, in order. */
  script: Record<string, ModelReply[]>;
  turns: Turn[];
  /** The initial state of the session. */
  state?: Record<string, unknown>;
  /** The plugins of the runner; on the mesh, those of every agent's process. */
  plugins?: (kit: Kit) => agentmesh.BasePlugin[];
  streaming?: boolean;
  maxLlmCalls?: number;
  runConfig?: Partial<agentmesh.RunConfig>;
  /** Tells whether agents work in parallel, so that the order of their events is not compared. */
  inParallel?: boolean;
  /**
   * The reasons why ADK 2.0.0 differs, as numbers in docs/adk-differences.md. The file differences.json holds
   * ADK's behaviour.
   */
  differs?: readonly string[];
}

/** The fields that the events of both libraries share. */
export interface SeenEvent {
  id?: string;
  invocationId?: string;
  author?: string;
  content?: Content;
  partial?: boolean;
  branch?: string;
  errorCode?: string;
  finishReason?: FinishReason | string;
  customMetadata?: Record<string, unknown>;
  longRunningToolIds?: string[];
  actions?: Record<string, unknown>;
}

export interface SeenSession {
  state: Record<string, unknown>;
  events: readonly { id?: string; author?: string }[];
}

/** The outcome of a scenario, in a form that can be compared. */
export interface Outcome {
  turns: unknown[][];
  /** The number of invocations in each turn's events, which must be one. */
  invocations: number[];
  /** The number of events with a repeated id. */
  repeated: number;
  /** The events that were yielded but not stored, or stored but not yielded. */
  untold: string[];
  unkept: string[];
  /** The state by session. */
  state: Record<string, Record<string, unknown>>;
  /** The prompts by model. */
  prompts: Record<string, Record<string, unknown>[]>;
}
