import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestFunctionResponses } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPrograms } from './find-programs.ts';
import { runDocuments } from './run-documents.ts';
import type { Play } from './run-program.ts';
import { makeWorkspace } from './workspace.ts';

// The program imports types as values, as many programs for ADK do.
const program = (
  tool: string,
  body: string,
) => `import { Content, Part, createUserContent } from '@google/genai';
import { Event, FunctionTool, InMemoryRunner, LlmAgent, ToolContext, stringifyContent } from "@google/adk";
import { z } from 'zod';

class Counter {
  constructor(private readonly step: number) {}
  next(context?: ToolContext): number {
    const count = (context?.state.get<number>('count') ?? 0) + this.step;
    context?.state.set('count', count);
    return count;
  }
}

async function main() {
  const counter = new Counter(2);
  const tool = new FunctionTool({
    name: '${tool}',
    description: 'Counts.',
    parameters: z.object({ what: z.string() }),
    execute: ({ what }: { what: string }, context?: ToolContext) => ({ what, count: counter.next(context) }),
  });
  const agent = new LlmAgent({ name: 'counter', model: 'gemini-2.5-flash', tools: [tool] });
  const runner = new InMemoryRunner({ agent });
  const { id: sessionId, userId } = await runner.sessionService.createSession({
    appName: runner.appName,
    userId: 'u',
  });
  const newMessage: Content = createUserContent('Count the apples.');
  const said: Event[] = [];
  ${body}
  console.log(stringifyContent(said[said.length - 1]!));
}
main();
`;
const run = 'for await (const event of runner.runAsync({ userId, sessionId, newMessage })) said.push(event);';
const fenced = (source: string) => `\`\`\`ts\n${source}\`\`\`\n`;
const withoutIndent = (text: string) => text.replace(/^ +/gm, '');

const plays: Play[] = ['count', 'count_never', 'count_badly'].map((tool) => ({
  tool,
  script(request) {
    const [result] = latestFunctionResponses(request);
    if (result) return { text: `${result.response?.count} ${result.response?.what}` };
    return tool === 'count_never'
      ? { text: 'no idea' }
      : { calls: [{ name: tool, args: { what: 'apples' } }] };
  },
  results: [tool],
  output: /2 apples/,
}));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentmesh-documents-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the programs of documents with these texts. */
async function runTexts(texts: Record<string, string>, timeoutMs?: number) {
  const lines: string[] = [];
  const documents = await mkdtemp(join(folder, 'd-'));
  for (const [name, text] of Object.entries(texts)) await writeFile(join(documents, name), text);
  const options = { plays, log: (line: string) => lines.push(line), ...(timeoutMs && { timeoutMs }) };
  return { ...(await runDocuments(documents, options)), lines };
}

describe('programs of documents', () => {
  it('run once each, outside the project, with this library as @google/adk', async () => {
    const source = program('count', run);
    const { runs, pieces, lines } = await runTexts({
      'fenced.md': `# Count\n\n\`\`\`python\nimport adk\n\`\`\`\n\n\`\`\`typescript\n${source}\`\`\`\n`,
      'bare.txt': `Counting\nimport asyncio\nfrom adk import x\nawait go()\n${withoutIndent(source)}import (\n"fmt"\n"log"\n)\nmain()\n`,
      'piece.md': `\`\`\`ts\nimport { ToolContext } from '@google/adk';\nexport const f = (context: ToolContext) => context;\n\`\`\`\n`,
    });
    expect(runs).toEqual([
      {
        place: 'bare.txt:5',
        again: ['fenced.md:8'],
        play: 'count',
        results: ['count'],
        output: '2 apples\n',
        problems: [],
      },
    ]);
    expect(pieces).toEqual(['piece.md:2']);
    expect(lines.at(-1)).toBe('1 programs ran, 0 failed');
  });

  it('fail with the reason: an exit code, a missing call, no play', async () => {
    const { runs, lines } = await runTexts({
      '1.md': fenced(program('count_badly', `${run}\nthrow new Error('broken');`)),
      '2.md': fenced(program('count_never', run)),
      '3.md': fenced(program('unheard_of', run)),
    });
    expect(runs.map(({ problems }) => problems)).toEqual([
      ['exit code 1', 'its output does not hold /2 apples/'],
      ['results came back of [] and not of [count_never]', 'its output does not hold /2 apples/'],
      ['no play of ours fits it'],
    ]);
    expect(lines.at(-1)).toBe('3 programs ran, 3 failed');
  });

  it('are killed when they do not end', async () => {
    const source = program('count', 'await new Promise(() => setInterval(() => {}, 1000));');
    const { runs } = await runTexts({ 'hang.md': fenced(source) }, 300);
    expect(runs[0]?.problems[0]).toBe('no end after 300 ms');
  });

  it('end with the last call that is TypeScript', async () => {
    const { programs, pieces } = await findPrograms(
      "import { x } from '@google/adk';\nx(1);\nx(2);\nThat was it (really).\nx(\n",
    );
    expect(programs.map(({ line, source }) => [line, source])).toEqual([
      [1, "import { x } from '@google/adk';\nx(1);\nx(2);"],
    ]);
    expect(pieces).toEqual([]);
  });

  it('leave nothing behind', async () => {
    const workspace = await makeWorkspace();
    expect(existsSync(join(workspace.folder, 'node_modules/@google/adk/package.json'))).toBe(true);
    await workspace[Symbol.asyncDispose]();
    expect(existsSync(workspace.folder)).toBe(false);
  });

  it('of the folder that AGENTMESH_SEEDS names run', async ({ skip }) => {
    const documents = process.env.AGENTMESH_SEEDS;
    if (!documents) return skip('AGENTMESH_SEEDS names no folder with documents');
    const lines: string[] = [];
    const { runs } = await runDocuments(documents, { log: (line) => lines.push(line) });
    expect(runs.length, lines.join('\n')).toBeGreaterThan(0);
    expect(
      runs.flatMap(({ problems }) => problems),
      lines.join('\n'),
    ).toEqual([]);
  });
});
