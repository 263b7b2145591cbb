import type { AuthConfig, Context } from '@agentmesh/agent';
import { z } from 'zod';
import type { Kit, Scenario } from '../kit.ts';
import { answer, asked, call, llm, say, sequence, to, tool } from './parts.ts';

const gated = (kit: Kit) =>
  new kit.FunctionTool({
    name: 'pay',
    description: 'does pay',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    execute: ({ amount }) => ({ paid: amount }),
  });
const gatedAbove = (kit: Kit) =>
  new kit.FunctionTool({
    name: 'pay',
    description: 'does pay',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: ({ amount }) => amount > 100,
    execute: ({ amount }) => ({ paid: amount }),
  });
const timeOff = tool('time_off', ({ days }, context) => {
  const { toolConfirmation } = context;
  if (!toolConfirmation) {
    context.requestConfirmation({ hint: '«How many days?»', payload: { approved: 0 } });
    return { status: 'waiting' };
  }
  return toolConfirmation.confirmed
    ? { asked: days, ...(toolConfirmation.payload as object) }
    : { refused: days };
});
const calendar: AuthConfig = {
  credentialKey: 'maps',
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' } as AuthConfig['authScheme'],
};
const maps = tool(
  'maps',
  (_args, context: Context) => {
    const credential = context.getAuthResponse(calendar);
    if (credential) return { key: credential.apiKey };
    context.requestCredential(calendar);
    return { pending: true };
  },
  { credentialKeys: ['maps'] },
);

const pay = (amount: number) => call('pay', { amount });
const confirmation = 'adk_request_confirmation';
const yes = answer({ [confirmation]: { confirmed: true } });
const no = answer({ [confirmation]: { confirmed: false } });
const root = (...tools: string[]) => llm('root', { tools });

export const confirmationScenarios: Scenario[] = [
  {
    name: 'a call that a person confirms',
    section: '§6.1',
    parts: { root: root('pay'), pay: gated },
    root: 'root',
    script: { root: [pay(5), say('paid')] },
    turns: ['go', yes],
  },
  {
    name: 'a call that a person rejects',
    section: '§6.2',
    parts: { root: root('pay'), pay: gated },
    root: 'root',
    script: { root: [pay(5), say('as you like')] },
    turns: ['go', no],
  },
  {
    name: 'a call that needs confirmation for some arguments',
    section: '§6.1',
    parts: { root: root('pay'), pay: gatedAbove },
    root: 'root',
    script: { root: [pay(50), say('paid'), pay(500), say('paid too')] },
    turns: ['go', 'more', yes],
  },
  {
    name: 'an answer as JSON text',
    section: '§6.2',
    parts: { root: root('pay'), pay: gated },
    root: 'root',
    script: { root: [pay(5), say('paid')] },
    turns: ['go', answer({ [confirmation]: { response: '{"confirmed": true}' } })],
  },
  {
    name: 'a question of the tool itself, with what the person filled in',
    section: '§6.1',
    differs: ['B1'],
    parts: { root: root('time_off'), time_off: timeOff },
    root: 'root',
    script: { root: [call('time_off', { days: 5 }), say('three days')] },
    turns: ['go', answer({ [confirmation]: { confirmed: true, payload: { approved: 3 } } })],
  },
  {
    name: 'a call that waits, and one beside it',
    section: '§3.7',
    differs: ['B2'],
    parts: { root: root('pay', 'look'), pay: gated, look: tool('look', () => ({ seen: 1 })) },
    root: 'root',
    script: { root: [{ calls: [pay(5).calls, call('look').calls].flat() }, say('both')] },
    turns: ['go', yes],
  },
  {
    name: 'a yes to another call than the one that waits',
    section: '§6.2',
    differs: ['D25'],
    parts: { root: root('pay'), pay: gated },
    root: 'root',
    script: { root: [pay(5), say('paid')] },
    turns: [
      'go',
      answer({
        [confirmation]: { confirmed: true, originalFunctionCall: { name: 'pay', args: { amount: 50 } } },
      }),
    ],
  },
  {
    name: 'a chat while a call waits',
    section: '§6.2',
    differs: ['B21'],
    parts: { root: root('pay'), pay: gated },
    root: 'root',
    script: { root: [pay(5), say('noon'), say('paid')] },
    turns: ['go', 'what time is it?', yes],
  },
  {
    name: 'a question of an agent that got the conversation',
    section: '§6.2',
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['pay'] }),
      pay: gated,
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [pay(5), say('paid')] },
    turns: ['go', yes],
  },
  {
    name: 'a question of a step of a sequence',
    section: '§6.2',
    differs: ['B4'],
    parts: {
      pipeline: sequence('pipeline', 'payer', 'booker'),
      payer: llm('payer', { tools: ['pay'] }),
      booker: llm('booker'),
      pay: gated,
    },
    root: 'pipeline',
    script: { payer: [pay(5), say('paid')], booker: [say('booked'), say('booked again')] },
    turns: ['go', yes],
  },
  {
    name: 'a question of an agent that is used as a tool',
    section: '§5.4',
    differs: ['B7'],
    parts: {
      root: llm('root', { tools: [asked('child')] }),
      child: llm('child', { tools: ['pay'] }),
      pay: gated,
    },
    root: 'root',
    script: { root: [call('child', { request: 'pay' }), say('done')], child: [pay(5), say('paid')] },
    turns: ['go', yes],
  },
  {
    name: 'an API key that a tool asks for',
    section: '§6.3',
    differs: ['B11'],
    parts: { root: root('maps'), maps },
    root: 'root',
    script: { root: [call('maps'), say('found')] },
    turns: [
      'go',
      answer({
        adk_request_credential: {
          ...calendar,
          exchangedAuthCredential: { authType: 'apiKey', apiKey: 'KEY' },
        },
      }),
    ],
  },
  {
    name: 'an API key that the user gave for an earlier message',
    section: '§6.3',
    differs: ['B11', 'D26'],
    parts: { root: root('maps'), maps },
    root: 'root',
    script: { root: [call('maps'), say('found'), call('maps'), say('found again')] },
    turns: [
      'go',
      answer({
        adk_request_credential: {
          ...calendar,
          exchangedAuthCredential: { authType: 'apiKey', apiKey: 'KEY' },
        },
      }),
      'and back?',
    ],
  },
];
