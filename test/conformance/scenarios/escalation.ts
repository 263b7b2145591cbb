import type { SingleAgentCallback } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { asked, call, confirm, gated, llm, loop, note, say, sequence, to, tool } from './parts.ts';

const giveUp = tool('give_up', (_args, { actions }) => {
  actions.escalate = true;
  return { reason: 'too hard' };
});
const escalate: SingleAgentCallback = ({ actions }) => {
  actions.escalate = true;
  return undefined;
};
const helper = llm('helper', { tools: ['give_up'] });

const scenario = (name: string, more: Partial<Scenario>): Scenario => ({
  name,
  section: '§1.3',
  differs: ['D48'],
  parts: { boss: llm('boss', { subAgents: ['helper'] }), helper, give_up: giveUp },
  root: 'boss',
  script: {
    boss: [to('helper'), say('I take over'), say('still me')],
    helper: [call('give_up'), say('I gave up'), say('me again')],
  },
  turns: ['go', 'and now?'],
  ...more,
});

export const escalationScenarios: Scenario[] = [
  scenario("a sub-agent escalates to its parent, and the next turn is the parent's", {}),
  scenario('a sub-agent escalates on a later turn', {
    script: {
      boss: [to('helper'), say('I take over'), say('still me')],
      helper: [say('let me try'), call('give_up'), say('I gave up'), say('me again')],
    },
    turns: ['go', 'well?', 'and now?'],
  }),
  scenario('a callback after a sub-agent escalates', {
    differs: ['D48', 'D19'],
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { afterAgentCallback: escalate }),
    },
    script: {
      boss: [to('helper'), say('I take over'), say('still me')],
      helper: [say('done'), say('done again')],
    },
  }),
  scenario('a sub-agent of a sub-agent escalates by one step', {
    parts: {
      boss: llm('boss', { subAgents: ['middle'] }),
      middle: llm('middle', { subAgents: ['helper'] }),
      helper,
      give_up: giveUp,
    },
    script: {
      boss: [to('middle')],
      middle: [to('helper'), say('in the middle'), say('still here')],
      helper: [call('give_up'), say('I gave up'), say('me again')],
    },
  }),
  scenario('a sub-agent that may not transfer up escalates', {
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['give_up'], disallowTransferToParent: true }),
      give_up: giveUp,
    },
  }),
  scenario('a transfer that a tool asks for comes before its escalation', {
    differs: [],
    parts: {
      boss: llm('boss', { subAgents: ['helper', 'expert'] }),
      helper,
      expert: llm('expert'),
      give_up: tool('give_up', (_args, { actions }) => {
        actions.escalate = true;
        actions.transferToAgent = 'expert';
        return {};
      }),
    },
    script: { boss: [to('helper')], helper: [call('give_up')], expert: [say('here'), say('still here')] },
  }),
  scenario('a root agent that escalates goes on', {
    differs: [],
    parts: { boss: llm('boss', { tools: ['give_up'] }), give_up: giveUp },
    script: { boss: [call('give_up'), say('on my own'), say('still me')] },
  }),
  scenario('an escalation by what an agent of a loop hands over to ends the loop', {
    parts: {
      round: loop('round', 3, 'boss', 'last'),
      boss: llm('boss', { subAgents: ['helper'] }),
      helper,
      last: llm('last'),
      give_up: giveUp,
    },
    root: 'round',
    script: {
      boss: [to('helper'), say('I take over'), say('spare')],
      helper: [call('give_up'), say('I gave up'), say('spare')],
      last: [say('never')],
    },
    turns: ['go'],
  }),
  scenario('an escalation of a step of a sequence changes nothing', {
    differs: [],
    parts: { line: sequence('line', 'helper', 'last'), helper, last: llm('last'), give_up: giveUp },
    root: 'line',
    script: { helper: [call('give_up'), say('well')], last: [say('end')] },
    turns: ['go'],
  }),
  scenario('exit_loop of an agent below another one', {
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: [(kit: Kit) => kit.EXIT_LOOP] }),
    },
    script: {
      boss: [to('helper'), say('I take over'), say('still me')],
      helper: [call('exit_loop'), say('me again')],
    },
  }),
  scenario('a sub-agent of an agent as a tool escalates', {
    parts: {
      root: llm('root', { tools: [asked('boss')] }),
      boss: llm('boss', { subAgents: ['helper'] }),
      helper,
      give_up: giveUp,
    },
    root: 'root',
    script: {
      root: [call('boss', { request: 'x' }), say('done')],
      boss: [to('helper'), say('I take over')],
      helper: [call('give_up'), say('I gave up')],
    },
    turns: ['go'],
  }),
  scenario('a sub-agent that asks a person escalates with the answer', {
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['pay'] }),
      pay: gated('pay', (_args, { actions }) => {
        actions.escalate = true;
        return { paid: false };
      }),
    },
    script: { boss: [to('helper'), say('I take over')], helper: [call('pay'), say('I gave up')] },
    turns: ['go', confirm()],
  }),
  scenario('callbacks around an escalation', {
    parts: {
      boss: llm('boss', { subAgents: ['helper'], beforeAgentCallback: note('boss before') }),
      helper: llm('helper', { tools: ['give_up'], afterAgentCallback: note('helper after') }),
      give_up: giveUp,
    },
    turns: ['go'],
  }),
];
