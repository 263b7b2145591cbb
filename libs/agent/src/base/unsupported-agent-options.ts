/** ADK's agent options that have no effect here, with their replacements. */
export const unsupportedAgentOptions = {
  parentAgent: 'list the agent among the subAgents of its parent',
  mode: 'use the agent in an AgentTool, or in a SequentialAgent, for a task',
  requestProcessors: 'use beforeModelCallback, a plugin, or processLlmRequest of a tool',
  responseProcessors: 'use afterModelCallback, or a plugin',
  examples: 'write them into the instruction',
  timeout: 'use timeoutMs of a FunctionTool, retryOptions of a model, or the abortSignal of a run',
  retryConfig: 'use retryOptions of the model, or a RoutedAgent',
  stateSchema: 'check the state in beforeAgentCallback',
  isolationScope: 'use the agent in an AgentTool: it then has a session of its own',
  rerunOnResume: 'agents that wait for an answer go on where they were',
  waitForOutput: 'agents that wait for an answer pause the workflow around them',
};
