import type { Kit, Scenario } from '../kit.ts';

const boss = (kit: Kit) =>
  new kit.LlmAgent({
    name: 'boss',
    model: kit.model('boss'),
    description: 'Leads.',
    subAgents: [kit.agent('helper')],
  });
const helper =
  (more: object = {}) =>
  (kit: Kit) =>
    new kit.LlmAgent({ name: 'helper', model: kit.model('helper'), description: 'Helps.', ...more });
const to = (agentName: string) => ({ calls: [{ name: 'transfer_to_agent', args: { agentName } }] });

export const transferScenarios: Scenario[] = [
  {
    name: 'a transfer by the model, and the next turn stays',
    section: '§3.8',
    parts: { boss, helper: helper() },
    root: 'boss',
    script: { boss: [to('helper')], helper: [{ text: 'here' }, { text: 'still here' }] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer there and back',
    section: '§3.8',
    parts: { boss, helper: helper() },
    root: 'boss',
    script: { boss: [to('helper'), { text: 'boss again' }], helper: [{ text: 'here' }, to('boss')] },
    turns: ['one', 'two'],
  },
  {
    name: "a transfer to an agent that may not give back: the next turn is the root's",
    section: '§2.3',
    parts: { boss, helper: helper({ disallowTransferToParent: true }) },
    root: 'boss',
    script: { boss: [to('helper'), { text: 'boss' }], helper: [{ text: 'here' }] },
    turns: ['one', 'two'],
  },
  {
    name: 'a transfer by a tool',
    section: '§3.8',
    parts: {
      boss: (kit) =>
        new kit.LlmAgent({
          name: 'boss',
          model: kit.model('boss'),
          tools: [kit.tool('route')],
          subAgents: [kit.agent('helper')],
        }),
      helper: helper(),
      route: (kit) =>
        new kit.FunctionTool({
          name: 'route',
          description: 'routes',
          execute: (_args, context) => {
            if (context) context.actions.transferToAgent = 'helper';
            return { ok: true };
          },
        }),
    },
    root: 'boss',
    script: { boss: [{ calls: [{ name: 'route', args: {} }] }], helper: [{ text: 'here' }] },
    turns: ['go'],
  },
  {
    name: 'a transfer to an unknown agent',
    section: '§3.8',
    parts: { boss, helper: helper() },
    root: 'boss',
    script: { boss: [to('nobody'), { text: 'then I do it' }], helper: [] },
    turns: ['go'],
    differs: ['B9'],
  },
];
