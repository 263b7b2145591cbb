import type { Kit, Scenario } from '../kit.ts';

const parent =
  (more: object = {}) =>
  (kit: Kit) =>
    new kit.LlmAgent({
      name: 'parent',
      model: kit.model('parent'),
      tools: [new kit.AgentTool({ agent: kit.agent('child'), ...more })],
    });
const child = (kit: Kit) =>
  new kit.LlmAgent({ name: 'child', model: kit.model('child'), description: 'A child.' });
const ask = { calls: [{ name: 'child', args: { request: 'do it' } }] };

export const agentToolScenarios: Scenario[] = [
  {
    name: 'an agent as a tool',
    section: '§5.4',
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, { text: 'parent says' }], child: [{ text: 'child says' }] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool begins afresh at every call',
    section: '§5.4',
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, ask, { text: 'ok' }], child: [{ text: 'one' }, { text: 'two' }] },
    turns: ['go'],
    differs: ['B8'],
  },
  {
    name: 'an agent as a tool whose answer is final',
    section: '§5.4',
    parts: { parent: parent({ skipSummarization: true }), child },
    root: 'parent',
    script: { parent: [ask, { text: 'a summary' }], child: [{ text: 'child says' }] },
    turns: ['go'],
    differs: ['B7'],
  },
  {
    name: 'an agent as a tool that fails',
    section: '§5.4',
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, { text: 'pity' }], child: [{ error: { status: 400, message: 'no' } }] },
    turns: ['go'],
    differs: ['B7'],
  },
];
