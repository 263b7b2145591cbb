import { AgentTool, type BaseAgent, type BaseLlm, LlmAgent } from '@agentmesh/agent';

/**
 * Returns the models of the agents of a process: of a tree, and of the agents that are used as tools. An agent does not
 * inherit the model of an agent in another process. An agent with user code may do without a model.
 *
 * @throws MeshError `invalid_argument` that names an agent without a model
 */
export function modelsOf(agent: BaseAgent): BaseLlm[] {
  return [...agent.tree()].flatMap((each) => {
    if (!(each instanceof LlmAgent)) return [];
    const ofTools = each.tools.flatMap((tool) => (tool instanceof AgentTool ? modelsOf(tool.agent) : []));
    const isModelLess = each.hasOwnCode && each.model === undefined;
    return [...(isModelLess ? [] : [each.llm]), ...ofTools];
  });
}
