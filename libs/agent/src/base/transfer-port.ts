import type { BaseAgent } from './base-agent.ts';

/** An agent to which a conversation may be transferred. */
export interface TransferTarget {
  name: string;
  description: string;
}

/**
 * The way in which a conversation leaves this process. The runner of the invocation provides it; it is absent
 * when all agents are in this process.
 */
export interface TransferPort {
  /**
   * Lists the agents of other processes to which the named agent may transfer, beside the agents of its own
   * tree.
   */
  targets(agent: string): TransferTarget[];
  /**
   * Tells whether the agent belongs to the same tree of agents, over all processes. A tool may transfer to
   * it.
   */
  reaches(agent: string): boolean;
  /** Names the LLM agent of another process that has the named agent as a sub-agent. */
  parent?(agent: string): string | undefined;
  /** Tells whether another process serves such an agent now. */
  knows(agent: string): boolean;
  /**
   * Returns the global instruction of the root agent when the root is in another process: a template, filled
   * here.
   */
  globalInstruction?(appName: string): string;
  /** Returns an agent of another process, to run it as part of this invocation. */
  remote(agent: string): BaseAgent;
  /**
   * Notes that the invocation continues at an agent of another process; the caller then stops. Absent when a
   * caller waits here for the answer: then this process runs the remote agent.
   */
  handOver?(agent: string): void;
}
