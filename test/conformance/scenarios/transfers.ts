import type { Scenario } from '../kit.ts';
import { call, llm as plain, say, sequence, to, tool } from './parts.ts';

/** Makes an agent whose description is compared in the prompts of the agents that may transfer to it. */
const llm = (name: string, options: Parameters<typeof plain>[1] = {}) =>
  plain(name, { description: `«${name}»`, ...options });

const boss = llm('boss', { subAgents: ['helper'] });
const helper = llm('helper');
const team = llm('boss', { subAgents: ['helper', 'peer'] });
const peer = llm('peer');
const write = tool('write', (args, { state }) => {
  state.update(args);
  return {};
});

export const transferScenarios: Scenario[] = [
  {
    name: 'a transfer by the model, and the next turn stays',
    section: '§3.8',
    parts: { boss, helper },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer there and back',
    section: '§3.8',
    parts: { boss, helper },
    root: 'boss',
    script: { boss: [to('helper'), say('boss again'), say('boss still')], helper: [say('here'), to('boss')] },
    turns: ['one', 'two', 'three'],
  },
  {
    name: 'a transfer there and back within a turn',
    section: '§3.8',
    parts: { boss, helper },
    root: 'boss',
    script: { boss: [to('helper'), say('then I do it')], helper: [to('boss')] },
    turns: ['one'],
  },
  {
    name: "a transfer to an agent that may not give back: the next turn is the root's",
    section: '§2.3',
    parts: { boss, helper: plain('helper', { disallowTransferToParent: true }) },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [say('here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer from sibling to sibling',
    section: '§3.8',
    parts: { boss: team, helper, peer },
    root: 'boss',
    script: { boss: [to('helper')], helper: [to('peer')], peer: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a sub-agent that knows no siblings',
    section: '§3.8',
    parts: { boss: team, helper: llm('helper', { disallowTransferToPeers: true }), peer },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here')], peer: [] },
    turns: ['one'],
  },
  {
    name: 'a sub-agent that knows its siblings alone',
    section: '§3.8',
    parts: { boss: team, helper: llm('helper', { disallowTransferToParent: true }), peer },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [to('peer')], peer: [say('here'), say('again')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer to a transfer',
    section: '§3.8',
    parts: { boss, helper: llm('helper', { subAgents: ['expert'] }), expert: llm('expert') },
    root: 'boss',
    script: { boss: [to('helper')], helper: [to('expert')], expert: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer by a tool',
    section: '§3.8',
    parts: {
      boss: llm('boss', { tools: ['route'], subAgents: ['helper'] }),
      helper,
      route: tool('route', (_args, { actions, state }) => {
        actions.transferToAgent = 'helper';
        state.set('temp:why', 'urgent');
        state.set('why', 'urgent');
        return { ok: true };
      }),
    },
    root: 'boss',
    script: { boss: [call('route')], helper: [say('here')] },
    turns: ['go'],
  },
  {
    name: 'a transfer beside another call',
    section: '§3.8',
    parts: {
      boss: llm('boss', { tools: ['write'], subAgents: ['helper'] }),
      helper: llm('helper', { instruction: '«{a} {temp:b}»' }),
      write,
    },
    root: 'boss',
    script: {
      boss: [
        {
          calls: [
            { name: 'write', args: { a: 1, 'temp:b': 2 } },
            { name: 'transfer_to_agent', args: { agentName: 'helper' } },
          ],
        },
      ],
      helper: [say('here')],
    },
    turns: ['go'],
  },
  {
    name: 'a transfer to an unknown agent',
    section: '§3.8',
    differs: ['B22'],
    parts: { boss, helper },
    root: 'boss',
    script: { boss: [to('nobody'), say('then I do it')], helper: [] },
    turns: ['go'],
  },
  {
    name: 'a transfer to an agent whose model fails',
    section: '§3.8',
    parts: { boss, helper },
    root: 'boss',
    script: { boss: [to('helper')], helper: [{ error: { status: 400, message: 'no' } }, say('better now')] },
    turns: ['go', 'again'],
  },
  {
    name: 'a transfer to an agent that throws',
    section: '§3.8',
    differs: ['B22'],
    parts: { boss, helper: llm('helper', { instruction: '«{missing}»' }) },
    root: 'boss',
    script: { boss: [to('helper'), say('then I do it')], helper: [] },
    turns: ['go'],
  },
  {
    name: "a transfer to a sequence, and the next turn is the root's",
    section: '§2.3',
    parts: {
      boss: llm('boss', { subAgents: ['line'] }),
      line: sequence('line', 'one', 'two'),
      one: plain('one'),
      two: plain('two'),
    },
    root: 'boss',
    script: { boss: [to('line')], one: [say('1')], two: [say('2')] },
    turns: ['go'],
  },
  {
    name: 'what an agent writes, the one it hands over to reads',
    section: '§2.4',
    parts: {
      boss: llm('boss', { tools: ['write'], subAgents: ['helper'] }),
      helper: llm('helper', { instruction: '«{a} {temp:b?} {user:c}»' }),
      write,
    },
    root: 'boss',
    script: {
      boss: [call('write', { a: 1, 'temp:b': 2, 'user:c': 3 }), to('helper')],
      helper: [say('here'), say('still here')],
    },
    turns: ['go', 'again'],
  },
];
