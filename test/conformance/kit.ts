import type * as agentmesh from '@agentmesh/agent';
import type { ModelReply } from '@agentmesh/testing';
import type { Content, FinishReason } from '@google/genai';

type Library = typeof agentmesh;

/** The names that a scenario may use: those that ADK and agentmesh have in common, with what the scenario is made of. */
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
  /** The model of an agent: its answers are the scenario's `script` of that name. */
  model(agent: string): string;
  /** Another part of the scenario: the object itself in one process, a remote one where each part has a process of its own. */
  agent(name: string): agentmesh.BaseAgent;
  tool(name: string): agentmesh.BaseTool;
};

export type Part = agentmesh.BaseAgent | agentmesh.BaseTool;

/** What the user says. A function gets the events so far. */
export type Turn =
  | string
  | Content
  | ((events: readonly SeenEvent[]) => Content)
  | { say: string; session?: string; stateDelta?: Record<string, unknown> };

/** The same definitions, model and messages for every way to run them. */
export interface Scenario {
  name: string;
  /** Section of ADK's semantics that it shows. */
  section: string;
  /** Agents and tools by name; each is a process of its own on the mesh. */
  parts: Record<string, (kit: Kit) => Part>;
  /** Name of the root agent. */
  root: string;
  /** What each agent's model answers, in order. */
  script: Record<string, ModelReply[]>;
  turns: Turn[];
  /** State that the session begins with. */
  state?: Record<string, unknown>;
  /** Of the runner, and on the mesh of every agent's process. */
  plugins?: (kit: Kit) => agentmesh.BasePlugin[];
  streaming?: boolean;
  maxLlmCalls?: number;
  runConfig?: Partial<agentmesh.RunConfig>;
  /** Things happen at once: their order is not compared. */
  inParallel?: boolean;
  /** Why ADK 2.0.0 does otherwise: numbers in docs/adk-differences.md. What it does is in differences.json. */
  differs?: readonly string[];
}

/** What both libraries' events have in common. */
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

/** What came out of a scenario, made comparable. */
export interface Outcome {
  turns: unknown[][];
  /** Number of invocations that each turn's events name: one. */
  invocations: number[];
  /** Events whose id another one has too. */
  repeated: number;
  /** Events that were told and not kept, and the other way round. */
  untold: string[];
  unkept: string[];
  /** By session. */
  state: Record<string, Record<string, unknown>>;
  /** By model. */
  prompts: Record<string, Record<string, unknown>[]>;
}
