import type { Context } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import { asked, call, llm, say, tool } from './parts.ts';

// The tools run in their own processes, because files are shared by the mesh. Memory is local to one process.
const save = tool('save', async ({ name, text }, context) => ({
  version: await context.saveArtifact(String(name), { text: String(text) }),
}));
const load = tool('load', async ({ name, version }, context) => ({
  part: (await context.loadArtifact(String(name), version as number | undefined)) ?? 'none',
  all: await context.listArtifacts(),
}));
const remember = async ({ invocationContext }: Context) => {
  const { memoryService, session } = invocationContext ?? {};
  if (session) await memoryService?.addSessionToMemory(session);
  return undefined;
};
const recall = tool('recall', async ({ query }, context) => {
  const { memories } = await context.searchMemory(String(query));
  return { memories: memories.map(({ author, content }) => ({ author, content })) };
});

export const artifactScenarios: Scenario[] = [
  {
    name: 'a file that one tool saves and another one loads',
    section: '§5.7',
    parts: { root: llm('root', { tools: ['save', 'load'] }), save, load },
    root: 'root',
    script: {
      root: [
        call('save', { name: 'a.txt', text: 'one' }),
        call('save', { name: 'a.txt', text: 'two' }),
        call('load', { name: 'a.txt' }),
        call('load', { name: 'a.txt', version: 0 }),
        call('load', { name: 'b.txt' }),
        say('ok'),
      ],
    },
    turns: ['go'],
  },
  {
    name: "a file of the user's, in another session",
    section: '§8.2',
    parts: { root: llm('root', { tools: ['save', 'load'] }), save, load },
    root: 'root',
    script: {
      root: [
        call('save', { name: 'user:a.txt', text: 'one' }),
        say('ok'),
        call('load', { name: 'user:a.txt' }),
        say('ok'),
      ],
    },
    turns: ['go', { say: 'again', session: 'another' }],
  },
  {
    name: 'a file in the instruction',
    section: '§3.4',
    parts: { root: llm('root', { instruction: '«{artifact.a.txt?}»', tools: ['save'] }), save },
    root: 'root',
    script: { root: [call('save', { name: 'a.txt', text: 'one' }), say('ok'), say('ok')] },
    turns: ['go', 'again'],
  },
  {
    name: 'a file in the instruction that is not there',
    section: '§3.4',
    parts: { root: llm('root', { instruction: '«{artifact.a.txt}»' }) },
    root: 'root',
    script: { root: [] },
    turns: ['go'],
  },
  {
    name: 'a file that an agent used as a tool saves and its caller loads',
    section: '§5.4',
    parts: {
      root: llm('root', { tools: ['load', asked('child')] }),
      child: llm('child', { tools: ['save'] }),
      save,
      load,
    },
    root: 'root',
    script: {
      root: [call('child', { request: 'save' }), call('load', { name: 'a.txt' }), say('ok')],
      child: [call('save', { name: 'a.txt', text: 'one' }), say('saved')],
    },
    turns: ['go'],
  },
  {
    name: 'a file that an agent used as a tool by another one saves',
    section: '§5.4',
    parts: {
      root: llm('root', { tools: ['load', asked('child')] }),
      child: llm('child', { tools: [asked('grandchild')] }),
      grandchild: llm('grandchild', { tools: ['save'] }),
      save,
      load,
    },
    root: 'root',
    script: {
      root: [call('child', { request: 'save' }), call('load', { name: 'a.txt' }), say('ok')],
      child: [call('grandchild', { request: 'save' }), say('had it saved')],
      grandchild: [call('save', { name: 'a.txt', text: 'one' }), say('saved')],
    },
    turns: ['go'],
  },
  {
    name: 'a tool that searches what was said in another session',
    section: '§8.3',
    parts: { root: llm('root', { tools: [recall], afterAgentCallback: remember }) },
    root: 'root',
    script: { root: [say('blue is nice'), call('recall', { query: 'blue' }), say('you like blue')] },
    turns: ['my colour is blue', { say: 'what is my colour?', session: 'another' }],
    differs: ['D31'],
  },
  {
    name: 'a file that comes with a message',
    section: '§2.6',
    parts: { root: llm('root', { tools: [load] }) },
    root: 'root',
    script: { root: [call('load', { name: 'dot.png' }), say('a dot')] },
    turns: [
      {
        role: 'user',
        parts: [
          { text: 'what is this?' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA', displayName: 'dot.png' } },
        ],
      },
    ],
    runConfig: { saveInputBlobsAsArtifacts: true },
  },
];
