import type { Scenario } from '../kit.ts';
import {
  asked,
  call,
  calls,
  llm,
  loop,
  note,
  parallel,
  read,
  say,
  sequence,
  to,
  tool,
  words,
  write,
} from './parts.ts';

const exit = tool('exit', (_args, { actions }) => {
  actions.escalate = true;
  actions.skipSummarization = true;
  return {};
});
const five = tool('five', () => 5);

const scenario = (
  name: string,
  section: string,
  more: Pick<Scenario, 'parts' | 'script'> & Partial<Scenario>,
): Scenario => ({
  name,
  section,
  root: 'root',
  turns: ['go'],
  ...more,
});

export const newGroundScenarios: Scenario[] = [
  scenario('a global instruction that reads the state, for a sub-agent too', '§3.3', {
    state: { mood: 'good' },
    parts: {
      root: llm('root', {
        subAgents: ['helper'],
        globalInstruction: '«{mood} {user:name?}»',
        tools: ['write'],
      }),
      helper: llm('helper', { instruction: '«help»' }),
      write,
    },
    script: {
      root: [call('write', { mood: 'bad', 'user:name': 'Ann' }), to('helper')],
      helper: [say('here')],
    },
  }),
  scenario('branches within a loop, of which one ends it', '§4.3', {
    parts: {
      root: loop('root', 3, 'fan', 'last'),
      fan: parallel('fan', 'left', 'right'),
      left: llm('left'),
      right: llm('right', { tools: ['exit'] }),
      last: llm('last'),
      exit,
    },
    script: {
      left: [say('L1'), say('L2'), say('L3')],
      right: [say('R1'), call('exit'), say('never')],
      last: [say('end 1'), say('never')],
    },
    inParallel: true,
  }),
  scenario('a sequence and a loop side by side', '§4.2', {
    parts: {
      root: parallel('root', 'line', 'round'),
      line: sequence('line', 'one', 'two'),
      round: loop('round', 2, 'three'),
      one: llm('one', { outputKey: 'first' }),
      two: llm('two', { instruction: '«{first}»' }),
      three: llm('three'),
    },
    script: { one: [say('1')], two: [say('2')], three: [say('3'), say('4')] },
    inParallel: true,
  }),
  scenario('branches that call the same tool', '§4.2', {
    parts: {
      root: parallel('root', 'left', 'right'),
      left: llm('left', { tools: ['five'] }),
      right: llm('right', { tools: ['five'] }),
      five,
    },
    script: { left: [call('five'), say('L')], right: [call('five'), say('R')] },
    inParallel: true,
  }),
  scenario('a sequence whose first step hands over', '§3.8', {
    parts: {
      root: sequence('root', 'one', 'two'),
      one: llm('one', { subAgents: ['helper'] }),
      helper: llm('helper', { outputKey: 'said' }),
      two: llm('two', { instruction: '«{said?}»' }),
    },
    script: { one: [to('helper'), to('helper')], helper: [say('H'), say('H2')], two: [say('2'), say('4')] },
    turns: ['go', 'again'],
  }),
  scenario('a transfer into a loop that an agent of it ends', '§3.8', {
    parts: {
      root: llm('root', { subAgents: ['round'] }),
      round: (kit) =>
        new kit.LoopAgent({
          name: 'round',
          description: 'Agent round.',
          maxIterations: 3,
          subAgents: [kit.agent('one')],
        }),
      one: llm('one', { tools: ['exit'] }),
      exit,
    },
    script: { root: [to('round'), say('root again')], one: [say('1'), call('exit')] },
    turns: ['go', 'and?'],
  }),
  scenario('a transfer to branches', '§3.8', {
    parts: {
      root: llm('root', { subAgents: ['fan'] }),
      fan: (kit) =>
        new kit.ParallelAgent({
          name: 'fan',
          description: 'Agent fan.',
          subAgents: [kit.agent('left'), kit.agent('right')],
        }),
      left: llm('left', { tools: ['five'] }),
      right: llm('right'),
      five,
    },
    script: { root: [to('fan'), say('root again')], left: [call('five'), say('L')], right: [say('R')] },
    turns: ['go', 'and?'],
    inParallel: true,
  }),
  scenario('a callback after branches', '§2.5', {
    parts: {
      root: (kit) =>
        new kit.ParallelAgent({
          name: 'root',
          subAgents: [kit.agent('left'), kit.agent('right')],
          beforeAgentCallback: note('before'),
          afterAgentCallback: [note('after'), () => words('both done')],
        }),
      left: llm('left'),
      right: llm('right'),
    },
    script: { left: [say('L')], right: [say('R')] },
    inParallel: true,
  }),
  scenario('a callback before a loop answers for it', '§2.5', {
    parts: {
      root: (kit) =>
        new kit.LoopAgent({
          name: 'root',
          maxIterations: 2,
          subAgents: [kit.agent('one')],
          beforeAgentCallback: () => words('no need'),
        }),
      one: llm('one'),
    },
    script: { one: [say('never')] },
  }),
  scenario('words, a call and a transfer in one answer', '§3.8', {
    parts: { root: llm('root', { tools: ['five'], subAgents: ['helper'] }), helper: llm('helper'), five },
    script: {
      root: [{ text: 'wait', calls: [...call('five').calls, ...to('helper').calls] }],
      helper: [say('here')],
    },
  }),
  scenario('an answer of blanks alone', '§3.2', {
    differs: ['D80'],
    parts: { root: llm('root', { outputKey: 'said' }) },
    script: { root: [say('  \n'), say('x')] },
    turns: ['go', 'and?'],
  }),
  scenario('signs and letters of many kinds in arguments, results and state', '§3.7', {
    parts: { root: llm('root', { tools: ['write', 'read'], instruction: '«{emoji?}»' }), write, read },
    script: {
      root: [
        call('write', { emoji: '👩‍👩‍👧 “ü” \\ \u0000 \n', 'user:日本': { 'ключ "x"': ['é', '‮'] } }),
        call('read', { keys: ['emoji', 'user:日本'] }),
        say('日本語 👍'),
      ],
    },
  }),
  scenario('a large result', '§3.7', {
    parts: {
      root: llm('root', { tools: ['large'] }),
      large: tool('large', () => ({ text: 'x'.repeat(300_000) })),
    },
    script: { root: [call('large'), say('long')] },
  }),
  scenario('forty calls in one turn', '§3.7', {
    parts: { root: llm('root', { tools: ['echo'] }), echo: tool('echo', ({ n }) => ({ n })) },
    script: {
      root: [{ calls: Array.from({ length: 40 }, (_, n) => ({ name: 'echo', args: { n } })) }, say('many')],
    },
  }),
  scenario('a message with a file and words, and its answer', '§3.5', {
    parts: { root: llm('root') },
    script: { root: [say('a dot'), say('still a dot')] },
    turns: [
      {
        role: 'user',
        parts: [
          { text: 'what is it?' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { fileUri: 'gs://b/f.pdf', mimeType: 'application/pdf' } },
        ],
      },
      'sure?',
    ],
  }),
  scenario('three agents that hand over in a circle, over four turns', '§3.8', {
    parts: {
      root: llm('root', { subAgents: ['one', 'two'] }),
      one: llm('one'),
      two: llm('two'),
    },
    script: { root: [to('one'), say('root')], one: [say('1'), to('two')], two: [say('2'), to('root')] },
    turns: ['a', 'b', 'c', 'd'],
  }),
  scenario('an agent asked as a tool and handed over to, in one conversation', '§5.4', {
    parts: {
      root: llm('root', { tools: [asked('child')], subAgents: ['helper'] }),
      helper: llm('helper', { tools: [asked('aide')] }),
      child: llm('child'),
      aide: llm('aide'),
    },
    script: {
      root: [call('child', { request: 'x' }), to('helper')],
      child: [say('C')],
      helper: [call('aide', { request: 'y' }), say('H'), to('root')],
      aide: [say('A')],
    },
    turns: ['go'],
  }),
  scenario('a conversation of five turns with a tool in each', '§3.5', {
    parts: { root: llm('root', { tools: ['five', 'write'], outputKey: 'last' }), five, write },
    script: {
      root: [1, 2, 3, 4, 5].flatMap((n) => [calls('five', 'write'), say(`answer ${n}`)]),
    },
    turns: ['1', '2', '3', '4', '5'],
  }),
  scenario('a tool that reads what the agent before it was told', '§5.7', {
    parts: {
      root: llm('root', { tools: ['who'], subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['who'] }),
      who: tool('who', (_args, { agentName, sessionId, userContent }) => ({
        agentName,
        sessionId,
        said: userContent?.parts?.[0]?.text,
      })),
    },
    script: {
      root: [call('who'), to('helper')],
      helper: [call('who'), say('done'), call('who'), say('again')],
    },
    turns: ['one', 'two'],
  }),
  scenario('settings of a model for each agent', '§3.1', {
    parts: {
      root: llm('root', {
        subAgents: ['helper'],
        generateContentConfig: { temperature: 0.1, stopSequences: ['END'] },
      }),
      helper: llm('helper', { generateContentConfig: { maxOutputTokens: 5, topK: 3 } }),
    },
    script: { root: [to('helper')], helper: [say('here')] },
  }),
  scenario('a root agent that may not transfer to a parent it does not have', '§2.3', {
    differs: ['D78'],
    parts: {
      root: llm('root', { subAgents: ['helper'], disallowTransferToParent: true }),
      helper: llm('helper'),
    },
    script: { root: [to('helper'), say('root again')], helper: [say('here'), say('still here')] },
    turns: ['go', 'and?'],
  }),
  scenario('a result whose summary is skipped, under outputKey', '§3.6', {
    differs: ['D47'],
    parts: {
      root: llm('root', { tools: ['last'], outputKey: 'said' }),
      last: tool('last', (_args, { actions }) => {
        actions.skipSummarization = true;
        return { final: true };
      }),
    },
    script: { root: [say('before'), call('last')] },
    turns: ['hi', 'go'],
  }),
];
