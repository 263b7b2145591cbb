import { App, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

export const documentAgent = new LlmAgent({
  name: 'document_agent',
  model: 'gemini-2.5-flash',
  description: 'Has documents of the user analysed.',
  instruction: `Have documents analysed with process_document, which finds them by their names.
Say where the analysis is kept. When there is no such document, name those that there are.`,
  // A client may have the files of a message saved.
  usesArtifacts: true,
  tools: [remoteTool('process_document')],
});

export const documentApp = new App({ name: 'document_app', rootAgent: documentAgent });
