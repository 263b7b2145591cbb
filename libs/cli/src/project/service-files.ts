import { constantOf, from, mainFile, type ProjectFiles } from './project-files.ts';
import { meshClientText } from './python/mesh-client.ts';
import { serveToolText } from './python/serve-tool.ts';
import { signatureText } from './python/signature.ts';

/** The kinds of services that the command adds. */
export type AddedKind = 'agent' | 'tool' | 'workflow' | 'python tool';

/** Returns the files of a new service. */
export function serviceFiles(kind: AddedKind, name: string): ProjectFiles {
  if (kind === 'python tool') return pythonFiles(name);
  if (kind === 'tool')
    return { [`tools/${name}/tool.ts`]: tool(name), [`tools/${name}/main.ts`]: mainFile('tool', name) };
  const definition = kind === 'agent' ? agent(name) : workflow(name);
  return {
    [`agents/${name}/agent.ts`]: definition,
    [`agents/${name}/main.ts`]: mainFile('agent', name, { app: true }),
  };
}

function pythonFiles(name: string): ProjectFiles {
  return {
    [`tools/${name}/tool.py`]: pythonTool(name),
    [`tools/${name}/serve_tool.py`]: serveToolText,
    [`tools/${name}/mesh_client.py`]: meshClientText,
    [`tools/${name}/signature.py`]: signatureText,
  };
}

function pythonTool(name: string): string {
  return `"""A tool in Python. An agent uses it by its name: remoteTool('${name}')."""

from serve_tool import serve_tool


def ${name}(text):
    return {"status": "success", "text": text}


PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "Says what the text is."}},
    "required": ["text"],
}

if __name__ == "__main__":
    serve_tool("${name}", "Says for the model what this tool does.", PARAMETERS, ${name})
`;
}

function agent(name: string): string {
  const constant = constantOf(name, 'agent');
  return `import { App, LlmAgent } ${from('agentmesh')};

export const ${constant} = new LlmAgent({
  name: '${name}',
  model: 'gemini-2.5-flash',
  description: 'Says for other agents what this agent can do.',
  instruction: 'Say here how the agent works.',
  tools: [],
});

export const ${constantOf(name, 'app')} = new App({ name: '${name}', rootAgent: ${constant} });
`;
}

function workflow(name: string): string {
  const constant = constantOf(name, 'agent');
  return `import { App, LlmAgent, SequentialAgent } ${from('agentmesh')};

const model = 'gemini-2.5-flash';
const writer = new LlmAgent({
  name: '${name}_writer',
  model,
  instruction: 'Write a draft.',
  outputKey: 'draft',
});
const editor = new LlmAgent({ name: '${name}_editor', model, instruction: 'Improve this draft: {draft}' });

/** Runs its agents one after the other. ParallelAgent and LoopAgent take the same options. */
export const ${constant} = new SequentialAgent({
  name: '${name}',
  description: 'Writes a text in two steps.',
  subAgents: [writer, editor],
});

export const ${constantOf(name, 'app')} = new App({ name: '${name}', rootAgent: ${constant} });
`;
}

function tool(name: string): string {
  return `import { FunctionTool } ${from('agentmesh')};
import { z } ${from('zod')};

export const ${constantOf(name, 'tool')} = new FunctionTool({
  name: '${name}',
  description: 'Says for the model what this tool does.',
  parameters: z.object({ text: z.string().describe('Says what the text is.') }),
  execute: ({ text }) => ({ status: 'success', text }),
});
`;
}
