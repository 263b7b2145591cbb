import type { Scenario } from '../kit.ts';
import {
  answer,
  asked,
  call,
  calls,
  llm,
  longRunning,
  loop,
  note,
  noteIn,
  parallel,
  plugin,
  say,
  to,
  tool,
  words,
} from './parts.ts';

const ask = call('child', { request: 'do it' });
const five = tool('five', () => 5);
const silent = longRunning('silent', () => undefined);

const scenario = (
  name: string,
  script: Scenario['script'],
  more: Partial<Scenario> & { child?: Record<string, unknown>; parent?: Record<string, unknown> } = {},
): Scenario => {
  const { child = {}, parent = {}, ...rest } = more;
  return {
    name,
    section: '§5.4',
    parts: { parent: llm('parent', { tools: [asked('child')], ...parent }), child: llm('child', child) },
    root: 'parent',
    script: { parent: [ask, say('ok')], ...script },
    turns: ['go'],
    ...rest,
  };
};

export const agentToolMixScenarios: Scenario[] = [
  scenario('an agent as a tool that answers in several parts', {
    child: [{ parts: [{ text: 'one' }, { text: 'two' }] }],
  }),
  scenario(
    'an agent as a tool that thinks before it answers',
    {
      child: [{ parts: [{ text: 'hm', thought: true }, { text: 'four' }] }],
    },
    {},
  ),
  scenario(
    'an agent as a tool that is called twice at once',
    {
      parent: [{ calls: [...ask.calls, ...call('child', { request: 'and that' }).calls] }, say('ok')],
      child: [say('1'), say('1')],
    },
    { differs: ['B8'], inParallel: true },
  ),
  scenario(
    'an agent as a tool beside an ordinary one',
    {
      parent: [{ calls: [...ask.calls, ...call('five').calls] }, say('ok')],
      child: [say('done')],
    },
    { parts: { parent: llm('parent', { tools: [asked('child'), 'five'] }), child: llm('child'), five } },
  ),
  scenario(
    'an agent as a tool in each round of a loop',
    {
      parent: [ask, say('1'), ask, say('2')],
      child: [say('a'), say('b')],
    },
    {
      differs: ['B8'],
      root: 'round',
      parts: {
        round: loop('round', 2, 'parent'),
        parent: llm('parent', { tools: [asked('child')] }),
        child: llm('child'),
      },
    },
  ),
  scenario(
    'an agent as a tool in both of two branches',
    {
      parent: [ask, say('P')],
      other: [call('helper', { request: 'x' }), say('O')],
      child: [say('a')],
      helper: [say('b')],
    },
    {
      root: 'fan',
      inParallel: true,
      parts: {
        fan: parallel('fan', 'parent', 'other'),
        parent: llm('parent', { tools: [asked('child')] }),
        other: llm('other', { tools: [asked('helper')] }),
        child: llm('child'),
        helper: llm('helper'),
      },
    },
  ),
  scenario(
    'an agent as a tool that calls a long-running tool with a ticket',
    {
      child: [call('ticket'), say('it is on its way')],
    },
    {
      differs: ['B7'],
      parts: {
        parent: llm('parent', { tools: [asked('child')] }),
        child: llm('child', { tools: ['ticket'] }),
        ticket: longRunning('ticket', () => ({ status: 'pending', ticket: 1 })),
      },
    },
  ),
  scenario(
    'a long-running call of an agent as a tool, and a chat behind it',
    {
      parent: [ask, say('it waits'), say('still')],
      child: [call('silent')],
    },
    {
      differs: ['B7'],
      turns: ['go', 'and?'],
      parts: {
        parent: llm('parent', { tools: [asked('child')] }),
        child: llm('child', { tools: ['silent'] }),
        silent,
      },
    },
  ),
  scenario(
    'a branch as a tool',
    {
      left: [say('L')],
      right: [say('R')],
    },
    {
      parts: {
        parent: llm('parent', { tools: [asked('child')] }),
        child: (kit) =>
          new kit.SequentialAgent({
            name: 'child',
            description: 'Agent child.',
            subAgents: [kit.agent('fan'), kit.agent('last')],
          }),
        fan: parallel('fan', 'left', 'right'),
        left: llm('left', { outputKey: 'l' }),
        right: llm('right', { outputKey: 'r' }),
        last: llm('last', { instruction: '«{l}{r}»' }),
      },
      script: { parent: [ask, say('ok')], left: [say('L')], right: [say('R')], last: [say('both')] },
      inParallel: true,
    },
  ),
  scenario(
    'callbacks around an agent as a tool',
    { child: [say('done')] },
    {
      parent: { beforeToolCallback: noteIn('before tool'), afterToolCallback: noteIn('after tool') },
      child: { beforeAgentCallback: note('before child'), afterAgentCallback: note('after child') },
      differs: ['B7'],
    },
  ),
  scenario(
    'a callback answers in place of an agent as a tool',
    { child: [] },
    {
      parent: { beforeToolCallback: () => ({ result: 'by the callback' }) },
    },
  ),
  scenario(
    'a callback changes what an agent as a tool said',
    { child: [say('done')] },
    {
      differs: ['D67'],
      parent: { afterToolCallback: ({ response }: { response: object }) => ({ changed: response }) },
    },
  ),
  scenario(
    'a callback before an agent as a tool answers for it',
    { child: [] },
    {
      child: { beforeAgentCallback: () => words('not today') },
    },
  ),
  scenario(
    'a callback after an agent as a tool adds words',
    { child: [say('done')] },
    {
      child: { afterAgentCallback: () => words('and that is all') },
    },
  ),
  scenario(
    'a plugin answers for the model of an agent as a tool',
    { child: [] },
    {
      differs: ['D16'],
      script: { parent: [ask, say('ok')], child: [say('by the model')] },
      plugins: (kit) => [
        plugin('one', {
          beforeModelCallback: async ({ callbackContext }) =>
            callbackContext.agentName === 'child' ? { content: words('cached') } : undefined,
        })(kit),
      ],
    },
  ),
  scenario(
    'calls of an agent as a tool by the client',
    { child: [say('never')] },
    {
      differs: ['D24'],
      runConfig: { pauseOnToolCalls: true },
      turns: ['go', answer({ child: { result: 'by the client' } })],
    },
  ),
  scenario(
    'two tools and an agent that got the conversation, left to the client',
    { helper: [calls('five', 'six'), say('eleven')] },
    {
      differs: ['D24', 'D64'],
      runConfig: { pauseOnToolCalls: true },
      parts: {
        parent: llm('parent', { subAgents: ['helper'] }),
        helper: llm('helper', { tools: ['five', 'six'] }),
        five,
        six: tool('six', () => 6),
      },
      script: { parent: [to('helper'), say('spare')], helper: [calls('five', 'six'), say('eleven')] },
      turns: ['go', answer({ five: { n: 5 }, six: { n: 6 } })],
    },
  ),
];
