import type { BaseAgent } from '../base/base-agent.ts';
import { BaseToolset } from '../base/base-toolset.ts';
import { LlmAgent } from '../flow/llm-agent.ts';

/** Closes the toolsets of an agent and of all agents below it. */
export async function closeToolsets(agent: BaseAgent): Promise<void> {
  const agents = [...agent.tree()].filter((each) => each instanceof LlmAgent);
  const toolsets = new Set(
    agents.flatMap(({ tools }) => tools).filter((tool) => tool instanceof BaseToolset),
  );
  await Promise.all([...toolsets].map((toolset) => toolset.close()));
}
