/** The files of a new project, by their paths. */
export type ProjectFiles = Record<string, string>;

/** The packages of a new project beside `agentmesh`, with the versions that we test with. */
export const packageVersions = {
  dependencies: { '@google/genai': '3.1.0', zod: '4.6.7' },
  devDependencies: {
    '@biomejs/biome': '2.6.8',
    '@types/node': '24.19.2',
    typescript: '7.0.2',
    vitest: '5.1.1',
  },
} as const;

/** Returns the files that every project has. */
export function baseFiles(name: string, ownPackages: Record<string, string>): ProjectFiles {
  const { dependencies, devDependencies } = packageVersions;
  const manifest = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: { dev: 'agentmesh dev', test: 'vitest run', check: 'tsc --noEmit', lint: 'biome lint' },
    dependencies: { ...ownPackages, ...dependencies },
    devDependencies,
  };
  return {
    'package.json': json(manifest),
    'tsconfig.json': json(compiler),
    'biome.json': json(linter),
    '.gitignore': 'node_modules/\n.agentmesh/\n.env\n__pycache__/\n',
    'README.md': readme(name),
  };
}

const compiler = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.array', 'esnext.collection', 'dom.iterable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ['agents', 'tools', '*.ts'],
};

/** The rules that Biome recommends, for the files of the project alone; what is unused is an error. */
const linter = {
  root: true,
  files: { includes: ['agents/**', 'tools/**', '*.ts'] },
  linter: { rules: { correctness: { noUnusedImports: 'error', noUnusedVariables: 'error' } } },
};

/** Returns the files of the example: an agent that uses a tool of another process, and their tests. */
export function exampleFiles(): ProjectFiles {
  return {
    'agents/helper/agent.ts': exampleAgent,
    'agents/helper/main.ts': mainFile('agent', 'helper', { app: true }),
    'tools/get_time/tool.ts': exampleTool,
    'tools/get_time/main.ts': mainFile('tool', 'get_time'),
    'tools/get_time/tool.test.ts': exampleTest,
    'model.script.ts': exampleScript,
  };
}

/** Returns the end of an import in a generated file. Our own imports are read from our sources by a test. */
export function from(module: string): string {
  return ['from', `'${module}'`].join(' ');
}

/** Returns the name of the constant for a service: `ask_manager` and `agent` give `askManagerAgent`. */
export function constantOf(name: string, suffix: string): string {
  const words = name.split('_').filter(Boolean);
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  return [
    ...words.map((word, at) => (at === 0 ? word.charAt(0).toLowerCase() + word.slice(1) : capital(word))),
    capital(suffix),
  ].join('');
}

/** Returns the program of a service. */
export function mainFile(
  kind: 'agent' | 'tool',
  name: string,
  { app = false }: { app?: boolean } = {},
): string {
  const definition = constantOf(name, kind);
  const served = app ? constantOf(name, 'app') : definition;
  const serve = kind === 'agent' ? 'runAgentService' : 'runToolService';
  return `import { ${serve} } ${from('agentmesh')};
import { ${served} } ${from(`./${kind}.ts`)};

await ${serve}(${served});
`;
}

const exampleAgent = `import { App, LlmAgent, remoteTool } ${from('agentmesh')};

export const helperAgent = new LlmAgent({
  name: 'helper',
  model: 'gemini-2.5-flash',
  description: 'Tells the time in cities.',
  instruction: 'Answer questions about the time with get_time.',
  // The tool is a process of its own: tools/get_time.
  tools: [remoteTool('get_time')],
});

export const helperApp = new App({ name: 'helper', rootAgent: helperAgent });
`;

const exampleTool = `import { FunctionTool } ${from('agentmesh')};
import { z } ${from('zod')};

const zones: Record<string, string> = {
  london: 'Europe/London',
  paris: 'Europe/Paris',
  tokyo: 'Asia/Tokyo',
};

export const getTimeTool = new FunctionTool({
  name: 'get_time',
  description: 'Tells the present time in a city.',
  parameters: z.object({ city: z.string().describe('Name of the city.') }),
  execute({ city }) {
    const timeZone = zones[city.toLowerCase()];
    if (timeZone === undefined) return { status: 'error', message: \`I do not know the time in \${city}.\` };
    return { status: 'success', city, time: new Date().toLocaleTimeString('en-GB', { timeZone }) };
  },
});
`;

const exampleTest = `import { App, Gemini, InMemoryRunner, LlmAgent } ${from('agentmesh')};
import { latestFunctionResponses, type ModelScript, startScriptedGemini } ${from('agentmesh/testing')};
import { expect, it } ${from('vitest')};
import { getTimeTool } ${from('./tool.ts')};

/** Answers in the place of a model: asks for the time, then tells it. */
const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (!result) return { calls: [{ name: 'get_time', args: { city: 'Tokyo' } }] };
  return { text: \`In \${result.response?.city} it is \${result.response?.time}.\` };
};

it('answers an agent in the same process, with a scripted model', async () => {
  await using server = await startScriptedGemini({ script });
  const model = new Gemini({ model: 'scripted', apiKey: 'scripted', baseUrl: server.url });
  const rootAgent = new LlmAgent({ name: 'tester', model, tools: [getTimeTool] });
  const runner = new InMemoryRunner({ app: new App({ name: 'test', rootAgent }) });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'test', userId: 'ann' });
  const texts: string[] = [];
  for await (const event of runner.runAsync({
    userId: 'ann',
    sessionId,
    newMessage: { role: 'user', parts: [{ text: 'What time is it in Tokyo?' }] },
  }))
    for (const part of event.content?.parts ?? []) if (part.text) texts.push(part.text);
  expect(texts.join('')).toMatch(/^In Tokyo it is \\d\\d:\\d\\d:\\d\\d\\.$/);
});
`;

const exampleScript = `import { latestFunctionResponses, latestUserText, type ModelScript } ${from('agentmesh/testing')};

/**
 * Answers in the place of a model: \`agentmesh dev\` uses this script when there is no key. It gets each request
 * to the model, with the conversation and the tools of the agent, and returns a text or calls of tools.
 */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, city, time, message } = result.response ?? {};
    return { text: status === 'success' ? \`In \${city} it is \${time}.\` : String(message) };
  }
  const text = latestUserText(request);
  if (!request.tools.some(({ name }) => name === 'get_time')) return { text: \`You said: \${text}\` };
  const city = /\\bin ([A-Z][a-z]+)/.exec(text)?.[1] ?? 'London';
  return { calls: [{ name: 'get_time', args: { city } }] };
};
`;

function readme(name: string): string {
  return `# ${name}

A mesh of agents. Each agent (\`agents/<name>/agent.ts\`) and each tool (\`tools/<name>/tool.ts\`) is a process of
its own, with its program in \`main.ts\`.

\`\`\`sh
npm install
npx agentmesh dev                                      # runs everything; Ctrl-C stops it
npx agentmesh ask helper "What time is it in Tokyo?"   # in another terminal
npm test
npm run check                                          # types
npm run lint
\`\`\`

With \`GEMINI_API_KEY\` in the environment or in \`.env\`, agents ask Gemini. Without a key, \`model.script.ts\` answers.

\`\`\`sh
npx agentmesh add agent planner
npx agentmesh add tool book_flight
npx agentmesh add workflow review
\`\`\`
`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
