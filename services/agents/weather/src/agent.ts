import { App, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

export const weatherAgent = new LlmAgent({
  name: 'weather_agent',
  model: 'gemini-2.5-flash',
  description: 'Knows the weather of cities.',
  instruction: 'Answer questions about the weather with get_weather. Say so when a city has no report.',
  tools: [remoteTool('get_weather', { writes: ['user'] })],
});

export const weatherApp = new App({ name: 'weather_app', rootAgent: weatherAgent });
