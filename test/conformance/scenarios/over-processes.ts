import type { SingleAgentCallback } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import { call, llm, say, to, tool } from './parts.ts';

const note =
  (name: string): SingleAgentCallback =>
  ({ state }) => {
    state.set('calls', [...(state.get<string[]>('calls') ?? []), name]);
    return undefined;
  };
const fails = tool('fails', () => {
  throw new Error('no');
});

/** Scenarios about behaviour that is simple in one process and needs care over several. */
export const overProcessesScenarios: Scenario[] = [
  {
    name: 'a transfer by a tool past a sub-agent, and the next turn stays',
    section: '§3.8',
    parts: {
      boss: llm('boss', { subAgents: ['helper'], tools: ['route'] }),
      helper: llm('helper', { subAgents: ['expert'] }),
      expert: llm('expert'),
      route: tool('route', (_args, { actions }) => {
        actions.transferToAgent = 'expert';
        return {};
      }),
    },
    root: 'boss',
    script: { boss: [call('route'), say('boss')], helper: [], expert: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: "the root's global instruction is for a sub-agent too",
    section: '§3.3',
    parts: {
      boss: llm('boss', { subAgents: ['helper'], globalInstruction: '«All speak Latin.»' }),
      helper: llm('helper', { instruction: '«Help.»' }),
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here')] },
    turns: ['go'],
  },
  {
    name: 'a callback for a tool elsewhere that fails',
    section: '§2.5',
    differs: ['D12'],
    parts: { root: llm('root', { tools: ['fails'], onToolErrorCallback: () => ({ mended: true }) }), fails },
    root: 'root',
    script: { root: [call('fails'), say('done')] },
    turns: ['go'],
  },
  {
    name: 'a callback before an agent that got the word from one with a callback after it',
    section: '§2.5',
    differs: ['D23'],
    parts: {
      boss: llm('boss', { subAgents: ['helper'], afterAgentCallback: note('boss after') }),
      helper: llm('helper', { beforeAgentCallback: note('helper before') }),
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here')] },
    turns: ['one'],
  },
  {
    name: 'an answer to a call that nobody made',
    section: '§3.5',
    parts: { root: llm('root') },
    root: 'root',
    script: { root: [say('hello')] },
    turns: [{ role: 'user', parts: [{ functionResponse: { id: 'x', name: 'x', response: { ok: true } } }] }],
  },
];
