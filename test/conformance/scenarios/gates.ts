import type { Scenario } from '../kit.ts';
import {
  asked,
  call,
  calls,
  confirm,
  gated,
  llm,
  note,
  noteIn,
  plugin,
  say,
  sequence,
  to,
  tool,
  write,
} from './parts.ts';

const pay = gated('pay', (args) => ({ paid: args.amount ?? 5 }));
const book = gated('book', () => ({ booked: true }));
const plain = { plainTextToolConfirmation: true };
const no = { confirmed: false };

const scenario = (name: string, more: Partial<Scenario> & { options?: object } = {}): Scenario => {
  const { options, ...rest } = more;
  return {
    name,
    section: '§6.1',
    parts: { root: llm('root', { tools: ['pay'], ...options }), pay },
    root: 'root',
    script: { root: [call('pay', { amount: 5 }), say('paid')] },
    turns: ['go', confirm()],
    ...rest,
  };
};
const two = (more: Partial<Scenario>): Partial<Scenario> => ({
  parts: { root: llm('root', { tools: ['pay', 'book'] }), pay, book },
  ...more,
});
const both = calls('pay', 'book');
const together =
  (first: unknown, second: unknown): Scenario['turns'][number] =>
  (events) => ({
    role: 'user',
    parts: [first, second].flatMap((each, nth) => confirm(each, nth)(events).parts ?? []),
  });

export const gateScenarios: Scenario[] = [
  scenario('a plain yes to a question', { runConfig: plain, turns: ['go', 'yes'] }),
  scenario('a plain no to a question', { runConfig: plain, turns: ['go', 'No'] }),
  scenario('other words than yes and no to a question', {
    differs: ['B21'],
    runConfig: plain,
    script: { root: [call('pay'), say('it is dear'), say('paid')] },
    turns: ['go', 'why?', confirm()],
  }),
  scenario('a plain yes that nobody asked for', {
    runConfig: plain,
    script: { root: [say('yes what?')] },
    turns: ['yes'],
  }),
  scenario('a plain yes without the option', {
    differs: ['B21'],
    script: { root: [call('pay'), say('yes what?'), say('paid')] },
    turns: ['go', 'yes', confirm()],
  }),
  scenario('a plain yes to a question of an agent that got the conversation', {
    runConfig: plain,
    parts: { boss: llm('boss', { subAgents: ['root'] }), root: llm('root', { tools: ['pay'] }), pay },
    root: 'boss',
    script: { boss: [to('root')], root: [call('pay'), say('paid')] },
    turns: ['go', 'ok'],
  }),
  scenario('a plain yes to a question of a step of a sequence', {
    differs: ['B4'],
    runConfig: plain,
    parts: {
      line: sequence('line', 'root', 'last'),
      root: llm('root', { tools: ['pay'] }),
      last: llm('last'),
      pay,
    },
    root: 'line',
    script: { root: [call('pay'), say('paid'), say('what?')], last: [say('booked'), say('again')] },
    turns: ['go', 'approve'],
  }),
  scenario('two questions of a turn, answered together', {
    ...two({
      script: { root: [both, say('both')] },
      turns: ['go', together({ confirmed: true }, { confirmed: true })],
    }),
  }),
  scenario('two questions of a turn, one answered yes and one no', {
    ...two({ script: { root: [both, say('one')] }, turns: ['go', together({ confirmed: true }, no)] }),
  }),
  scenario('two questions of a turn, answered one by one', {
    differs: ['D43'],
    ...two({
      script: { root: [both, say('both'), say('spare')] },
      turns: ['go', confirm(), confirm(undefined, 1)],
    }),
  }),
  scenario('an answer that is neither yes nor no', {
    differs: ['D44'],
    script: { root: [call('pay'), say('paid'), say('spare')] },
    turns: ['go', confirm({ confirmed: 'maybe' }), confirm()],
  }),
  scenario('a question that is answered twice', {
    differs: ['D45'],
    script: { root: [call('pay'), say('as you like'), say('spare')] },
    turns: ['go', confirm(no), confirm()],
  }),
  scenario('a callback after an agent whose call waits', { options: { afterAgentCallback: note('after') } }),
  scenario('callbacks around a call that waits', {
    options: { beforeToolCallback: noteIn('before'), afterToolCallback: noteIn('after') },
  }),
  scenario('a plugin around a call that waits', {
    plugins: (kit) => [
      plugin('one', {
        beforeToolCallback: async ({ toolContext }) => note('before')(toolContext),
        afterToolCallback: async ({ toolContext }) => note('after')(toolContext),
      })(kit),
    ],
  }),
  scenario('a callback answers in place of a tool that would ask', {
    options: { beforeToolCallback: () => ({ paid: 'by the callback' }) },
    turns: ['go', 'thanks'],
    script: { root: [call('pay'), say('paid'), say('bye')] },
  }),
  scenario('a confirmed call that throws', {
    parts: {
      root: llm('root', { tools: ['pay'] }),
      pay: gated('pay', () => {
        throw new Error('no money');
      }),
    },
    script: { root: [call('pay'), say('pity')] },
  }),
  scenario('a confirmed call that writes to the state', {
    differs: ['D46'],
    parts: {
      root: llm('root', { tools: ['pay'], instruction: '«{paid?} {temp:note?}»' }),
      pay: gated('pay', (_args, { state }) => {
        state.update({ paid: true, 'temp:note': 'now', 'user:paid': 1 });
        return { ok: true };
      }),
    },
  }),
  scenario('a confirmed call that transfers', {
    differs: ['D46'],
    parts: {
      root: llm('root', { tools: ['pay'], subAgents: ['helper'] }),
      helper: llm('helper'),
      pay: gated('pay', (_args, { actions }) => {
        actions.transferToAgent = 'helper';
        return { ok: true };
      }),
    },
    script: { root: [call('pay'), say('root goes on')], helper: [say('here')] },
  }),
  scenario('a confirmed call that skips the summary', {
    differs: ['D46'],
    parts: {
      root: llm('root', { tools: ['pay'] }),
      pay: gated('pay', (_args, { actions }) => {
        actions.skipSummarization = true;
        return { ok: true };
      }),
    },
  }),
  scenario('a call that waits beside a transfer', {
    differs: ['B2'],
    parts: {
      root: llm('root', { tools: ['pay'], subAgents: ['helper'] }),
      helper: llm('helper'),
      pay,
    },
    script: {
      root: [{ calls: [...call('pay').calls, ...to('helper').calls] }, say('paid')],
      helper: [say('here')],
    },
  }),
  scenario('a question that depends on the state', {
    parts: {
      root: llm('root', { tools: ['pay', 'write'] }),
      pay: gated(
        'pay',
        () => ({ paid: true }),
        async (_args, { state }) => state.get('strict') === true,
      ),
      write,
    },
    script: {
      root: [call('pay'), say('paid'), call('write', { strict: true }), call('pay'), say('paid again')],
    },
    turns: ['go', 'go on', confirm()],
  }),
  scenario('a question whose payload is a list of objects', {
    differs: ['B1'],
    parts: {
      root: llm('root', { tools: ['pay'] }),
      pay: tool('pay', (_args, context) => {
        const { toolConfirmation } = context;
        if (toolConfirmation) return { got: toolConfirmation.payload };
        context.requestConfirmation({
          hint: '«Which?»',
          payload: [{ name: 'a', take: false }, 'b', 3, null],
        });
        return { status: 'waiting' };
      }),
    },
    turns: ['go', confirm({ confirmed: true, payload: [{ name: 'a', take: true }] })],
  }),
  scenario('a tool that asks twice', {
    differs: ['B1'],
    parts: {
      root: llm('root', { tools: ['pay'] }),
      pay: tool('pay', (_args, context) => {
        const given = context.toolConfirmation?.payload;
        if (given === 'second') return { done: true };
        context.requestConfirmation({ hint: given ? '«Really?»' : '«Sure?»', payload: '' });
        return { status: 'waiting' };
      }),
    },
    turns: [
      'go',
      confirm({ confirmed: true, payload: 'first' }),
      confirm({ confirmed: true, payload: 'second' }, 1),
    ],
  }),
  scenario('a question of a tool of the second of two branches', {
    differs: ['B4'],
    inParallel: true,
    parts: {
      fan: (kit) => new kit.ParallelAgent({ name: 'fan', subAgents: [kit.agent('left'), kit.agent('root')] }),
      left: llm('left'),
      root: llm('root', { tools: ['pay'] }),
      pay,
    },
    root: 'fan',
    script: { left: [say('L'), say('L again')], root: [call('pay'), say('paid')] },
  }),
  scenario('a question within a loop', {
    differs: ['B4'],
    parts: {
      round: (kit) => new kit.LoopAgent({ name: 'round', maxIterations: 2, subAgents: [kit.agent('root')] }),
      root: llm('root', { tools: ['pay'] }),
      pay,
    },
    root: 'round',
    script: { root: [call('pay'), say('paid'), say('once more'), say('spare')] },
  }),
  scenario('a question before an answer that is kept under outputKey', {
    differs: ['D47'],
    options: { outputKey: 'said' },
  }),
  scenario('a question with pieces', {
    differs: ['D15'],
    streaming: true,
    script: { root: [call('pay'), { chunks: ['pa', 'id'] }] },
  }),
  scenario('a question of an agent that sees the current turn alone', {
    options: { includeContents: 'none' },
    script: { root: [say('hello'), call('pay'), say('paid')] },
    turns: ['hi', 'go', confirm()],
  }),
  scenario('a rejected call beside one that was made', {
    differs: ['B2'],
    parts: { root: llm('root', { tools: ['pay', 'write'] }), pay, write },
    script: { root: [calls('pay', 'write'), say('well')] },
    turns: ['go', confirm(no)],
  }),
  scenario('a question of an agent as a tool that is rejected', {
    differs: ['B7'],
    parts: { root: llm('root', { tools: [asked('child')] }), child: llm('child', { tools: ['pay'] }), pay },
    script: { root: [call('child', { request: 'pay' }), say('pity')], child: [call('pay'), say('not paid')] },
    turns: ['go', confirm(no)],
  }),
  scenario('a callback after a step of a sequence whose call waits', {
    differs: ['B4'],
    parts: {
      line: sequence('line', 'root', 'last'),
      root: llm('root', { tools: ['pay'], afterAgentCallback: note('after') }),
      last: llm('last', { instruction: '«{calls?}»' }),
      pay,
    },
    root: 'line',
    script: { root: [call('pay'), say('paid'), say('spare')], last: [say('end'), say('spare')] },
  }),
];
