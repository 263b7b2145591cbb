import type * as agentmesh from '@agentmesh/agent';
import type { ModelReply } from '@agentmesh/testing';
import type { Content } from '@google/genai';

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
  | 'BaseToolset'
  | 'createEvent'
> & {
  /** The model of an agent: its answers are the scenario's `script` of that name. */
  model(agent: string): string;
  /** Another part of the scenario: the object itself in one process, a remote one where each part has a process of its own. */
  agent(name: string): agentmesh.BaseAgent;
  tool(name: string): agentmesh.BaseTool;
};

export type Part = agentmesh.BaseAgent | agentmesh.BaseTool;

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
  /** What the user says, one after the other. A function gets the events so far. */
  turns: (string | Content | ((events: readonly SeenEvent[]) => Content))[];
  state?: Record<string, unknown>;
  streaming?: boolean;
  maxLlmCalls?: number;
  /** How ADK 2.0.0 differs, by the number in docs/adk-differences.md. */
  differs?: readonly string[];
}

/** What both libraries' events have in common. */
export interface SeenEvent {
  author?: string;
  content?: Content;
  partial?: boolean;
  branch?: string;
  errorCode?: string;
  longRunningToolIds?: string[];
  actions: Record<string, unknown> & { stateDelta: Record<string, unknown> };
}

/** What came out of a scenario, made comparable. */
export interface Outcome {
  turns: unknown[][];
  state: Record<string, unknown>;
  prompts: Record<string, unknown[]>;
}
