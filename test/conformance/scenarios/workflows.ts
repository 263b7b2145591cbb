import type { SingleAgentCallback } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { call, llm, loop, parallel, say, sequence, tool } from './parts.ts';

const count = tool('count', () => ({ n: 3 }));
const leave = tool('leave', (_args, { actions }) => {
  actions.escalate = true;
  return { left: true };
});
const exits = (name: string) => (kit: Kit) =>
  new kit.LlmAgent({ name, model: kit.model(name), tools: [kit.EXIT_LOOP] });

const countIn: (key: string) => SingleAgentCallback =
  (key) =>
  ({ state }) => {
    state.set(key, (state.get<number>(key) ?? 0) + 1);
    return undefined;
  };
const escalate: SingleAgentCallback = ({ actions }) => {
  actions.escalate = true;
  return undefined;
};

export const workflowScenarios: Scenario[] = [
  {
    name: 'a sequence, the second reading what the first wrote',
    section: '§4.1',
    parts: {
      line: sequence('line', 'writer', 'editor'),
      writer: llm('writer', { outputKey: 'draft' }),
      editor: llm('editor', { instruction: '«Edit: {draft}»' }),
    },
    root: 'line',
    script: { writer: [say('a draft')], editor: [say('edited')] },
    turns: ['write'],
  },
  {
    name: 'a sequence that is asked twice begins at its start again',
    section: '§4.1',
    parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
    root: 'line',
    script: { one: [say('1'), say('3')], two: [say('2'), say('4')] },
    turns: ['go', 'again'],
  },
  {
    name: 'a sequence in which an agent calls a tool',
    section: '§4.1',
    parts: {
      line: sequence('line', 'worker', 'teller'),
      worker: llm('worker', { tools: ['count'] }),
      teller: llm('teller'),
      count,
    },
    root: 'line',
    script: { worker: [call('count'), say('counted')], teller: [say('three')] },
    turns: ['go'],
  },
  {
    name: 'a sequence in which a model fails',
    section: '§4.1',
    parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
    root: 'line',
    script: { one: [{ error: { status: 400, message: 'no' } }], two: [say('2')] },
    turns: ['go'],
  },
  {
    name: 'a sequence in which an agent throws',
    section: '§2.7',
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { instruction: '{missing}' }),
      two: llm('two'),
    },
    root: 'line',
    script: { one: [], two: [say('2')] },
    turns: ['go'],
  },
  {
    name: 'a loop to its limit',
    section: '§4.3',
    parts: { round: loop('round', 2, 'one'), one: llm('one') },
    root: 'round',
    script: { one: [say('first'), say('second')] },
    turns: ['go'],
  },
  {
    name: 'a loop that an agent ends',
    section: '§4.3',
    parts: { round: loop('round', 5, 'writer', 'critic'), writer: llm('writer'), critic: exits('critic') },
    root: 'round',
    script: { writer: [say('bad'), say('good')], critic: [say('again'), call('exit_loop')] },
    turns: ['go'],
  },
  {
    name: 'a loop that a tool of its first agent ends',
    section: '§4.3',
    parts: {
      round: loop('round', 5, 'one', 'two'),
      one: llm('one', { tools: ['leave'] }),
      two: llm('two'),
      leave,
    },
    root: 'round',
    script: { one: [say('1'), call('leave'), say('gone')], two: [say('2'), say('never')] },
    turns: ['go'],
  },
  {
    name: 'a sequence in a loop in a sequence',
    section: '§4.3',
    parts: {
      outer: sequence('outer', 'round', 'last'),
      round: loop('round', 3, 'inner'),
      inner: sequence('inner', 'one', 'two'),
      one: llm('one'),
      two: exits('two'),
      last: llm('last'),
    },
    root: 'outer',
    script: { one: [say('1'), say('3')], two: [say('2'), call('exit_loop')], last: [say('end')] },
    turns: ['go'],
  },
  {
    name: 'what ends a loop ends the loop around it',
    section: '§4.3',
    parts: {
      outer: loop('outer', 3, 'inner', 'after'),
      inner: loop('inner', 3, 'one'),
      one: exits('one'),
      after: llm('after'),
    },
    root: 'outer',
    script: { one: [say('1'), call('exit_loop')], after: [say('never')] },
    turns: ['go'],
  },
  {
    name: 'one branch',
    section: '§4.2',
    parts: { fan: parallel('fan', 'left'), left: llm('left', { outputKey: 'left_said' }) },
    root: 'fan',
    script: { left: [say('left'), say('left again')] },
    turns: ['go', 'again'],
  },
  {
    name: 'branches that do not see each other, and one that sees all',
    section: '§4.2',
    parts: {
      line: sequence('line', 'fan', 'end'),
      fan: parallel('fan', 'left', 'right'),
      left: llm('left', { outputKey: 'left_said', tools: ['count'] }),
      right: llm('right', { outputKey: 'right_said' }),
      end: llm('end', { instruction: '«{left_said} {right_said}»' }),
      count,
    },
    root: 'line',
    script: { left: [call('count'), say('L')], right: [say('R')], end: [say('both')] },
    turns: ['go'],
    inParallel: true,
  },
  {
    name: 'branches within branches',
    section: '§1.6',
    parts: {
      fan: parallel('fan', 'left', 'deep'),
      left: llm('left'),
      deep: parallel('deep', 'one', 'two'),
      one: llm('one', { tools: ['count'] }),
      two: llm('two'),
      count,
    },
    root: 'fan',
    script: { left: [say('L')], one: [call('count'), say('1')], two: [say('2')] },
    turns: ['go'],
    inParallel: true,
  },
  {
    name: 'a branch whose model fails',
    section: '§2.7',
    differs: ['B10'],
    parts: { fan: parallel('fan', 'left', 'right'), left: llm('left'), right: llm('right') },
    root: 'fan',
    script: { left: [{ error: { status: 400, message: 'no' } }], right: [say('R')] },
    turns: ['go'],
    inParallel: true,
  },
  {
    name: 'callbacks in each round of a loop',
    section: '§2.5',
    parts: {
      round: loop('round', 2, 'one'),
      one: llm('one', {
        instruction: '«{before} {after?}»',
        beforeAgentCallback: countIn('before'),
        afterAgentCallback: countIn('after'),
      }),
    },
    root: 'round',
    script: { one: [say('1'), say('2')] },
    turns: ['go'],
  },
  {
    name: 'a callback that ends a loop',
    section: '§4.3',
    differs: ['D19'],
    parts: {
      round: loop('round', 2, 'one', 'two'),
      one: llm('one', { afterAgentCallback: escalate }),
      two: llm('two'),
    },
    root: 'round',
    script: { one: [say('1'), say('3')], two: [say('2'), say('4')] },
    turns: ['go'],
  },
];
