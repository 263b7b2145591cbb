/** OpenAI's models, and all models with the same interface. Needs the package `openai`. */
export * from '@agentmesh/agent/openai';
