import { App, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

export const fileAgent = new LlmAgent({
  name: 'file_agent',
  model: 'gemini-2.5-flash',
  description: 'Has large files processed.',
  instruction: `Have files processed with process_large_file.
While its status is running, say how far it is. Give the result only when the status is completed.`,
  tools: [remoteTool('process_large_file')],
});

export const fileApp = new App({ name: 'file_app', rootAgent: fileAgent });
