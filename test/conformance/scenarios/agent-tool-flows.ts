import type { Scenario } from '../kit.ts';
import {
  answer,
  asked,
  call,
  confirm,
  gated,
  llm,
  longRunning,
  read,
  say,
  sequence,
  to,
  tool,
  write,
} from './parts.ts';

const ask = call('child', { request: 'do it' });
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

export const agentToolFlowScenarios: Scenario[] = [
  scenario(
    'a loop as a tool',
    { one: [say('bad'), call('exit')] },
    {
      differs: ['B7'],
      parts: {
        parent: llm('parent', { tools: [asked('child')] }),
        child: (kit) =>
          new kit.LoopAgent({
            name: 'child',
            description: 'Agent child.',
            maxIterations: 3,
            subAgents: [kit.agent('one')],
          }),
        one: llm('one', { tools: ['exit'] }),
        exit: tool('exit', (_args, { actions }) => {
          actions.escalate = true;
          actions.skipSummarization = true;
          return { left: true };
        }),
      },
    },
  ),
  scenario(
    'an agent as a tool sees the current turn of its own alone',
    {
      parent: [ask, say('ok'), ask, say('ok again')],
      child: [say('1'), say('2')],
    },
    { child: { includeContents: 'none' }, turns: ['go', 'again'] },
  ),
  scenario(
    'an agent as a tool after a transfer',
    {
      boss: [to('parent')],
      child: [say('done')],
    },
    {
      root: 'boss',
      parts: {
        boss: llm('boss', { subAgents: ['parent'] }),
        parent: llm('parent', { tools: [asked('child')] }),
        child: llm('child'),
      },
      script: { boss: [to('parent')], parent: [ask, say('ok')], child: [say('done')] },
    },
  ),
  scenario(
    'an agent as a tool whose tool is confirmed, in two levels',
    {
      child: [call('grandchild', { request: 'pay' }), say('child done')],
      grandchild: [call('pay'), say('paid')],
    },
    {
      differs: ['B7'],
      turns: ['go', confirm()],
      parts: {
        parent: llm('parent', { tools: [asked('child')] }),
        child: llm('child', { tools: [asked('grandchild')] }),
        grandchild: llm('grandchild', { tools: ['pay'] }),
        pay: gated('pay', () => ({ paid: true })),
      },
    },
  ),
  scenario(
    'an agent as a tool that writes, and the caller that reads at once',
    {
      parent: [ask, call('read', { keys: ['a', 'user:b', 'temp:c'] }), say('ok')],
      child: [call('write', { a: 1, 'user:b': 2, 'temp:c': 3 }), say('written')],
    },
    {
      differs: ['D4'],
      parts: {
        parent: llm('parent', { tools: [asked('child'), 'read'] }),
        child: llm('child', { tools: ['write'] }),
        read,
        write,
      },
    },
  ),
  scenario(
    'an agent as a tool with a form it is not asked in',
    {
      parent: [call('child', { town: 1 }), call('child', { city: 'Oslo' }), say('ok')],
      child: [say('rain'), say('rain')],
    },
    {
      differs: ['D7', 'B8'],
      child: {
        inputSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
      },
    },
  ),
  scenario(
    'an answer to a long-running call, then an agent as a tool',
    {
      parent: [call('silent'), ask, say('ok')],
      child: [say('done')],
    },
    {
      turns: ['go', answer({ silent: { status: 'approved' } })],
      parts: { parent: llm('parent', { tools: [asked('child'), 'silent'] }), child: llm('child'), silent },
    },
  ),
  scenario(
    'two agents as tools of which one fails',
    {
      parent: [{ calls: [...ask.calls, ...call('other', { request: 'x' }).calls] }, say('ok')],
      child: [{ error: { status: 400, message: 'no' } }],
      other: [say('fine')],
    },
    {
      differs: ['B7'],
      parts: {
        parent: llm('parent', { tools: [asked('child'), asked('other')] }),
        child: llm('child'),
        other: llm('other'),
      },
    },
  ),
  scenario(
    'a sequence whose step uses an agent as a tool and keeps its answer',
    { child: [say('draft')], last: [say('end')] },
    {
      root: 'line',
      parts: {
        line: sequence('line', 'parent', 'last'),
        parent: llm('parent', { tools: [asked('child')], outputKey: 'said' }),
        child: llm('child'),
        last: llm('last', { instruction: '«{said}»' }),
      },
    },
  ),
];
