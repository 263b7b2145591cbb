import * as agentmesh from '@agentmesh/agent';
import { z } from 'zod';

type Library = Pick<typeof agentmesh, 'App' | 'FunctionTool' | 'LlmAgent'>;

/** Makes the app with a library: agentmesh or ADK. */
export function deskAppOf({ App, FunctionTool, LlmAgent }: Library): agentmesh.App {
  const saveFile = new FunctionTool({
    name: 'save_file',
    description: 'Saves a text as a file of the session.',
    usesArtifacts: true,
    parameters: z.object({ name: z.string(), text: z.string() }),
    async execute({ name, text }, context) {
      const data = Buffer.from(text).toString('base64');
      const version = await context?.saveArtifact(name, { inlineData: { data, mimeType: 'text/plain' } });
      context?.state.set('last_file', name);
      const { folder } = context?.state.get<{ folder?: string }>('temp:forwarded_props') ?? {};
      return { name, version, ...(folder !== undefined && { folder }) };
    },
  });
  const orderLunch = new FunctionTool({
    name: 'order_lunch',
    description: 'Orders lunch for the team, when a person confirms it.',
    parameters: z.object({ people: z.number() }),
    requireConfirmation: true,
    execute: ({ people }) => ({ status: 'ordered', people }),
  });
  const rootAgent = new LlmAgent({
    name: 'desk_agent',
    model: 'gemini-2.5-flash',
    description: 'Helps in the office.',
    instruction: 'Help in the office.',
    usesArtifacts: true,
    tools: [saveFile, orderLunch],
  });
  return new App({ name: 'desk_app', rootAgent });
}

/** An app for the parts of the web UI that no sample uses: files, uploads and plain confirmations. */
export const deskApp = deskAppOf(agentmesh);
