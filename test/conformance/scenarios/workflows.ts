import type { Kit, Scenario } from '../kit.ts';

const speaker =
  (name: string, more: object = {}) =>
  (kit: Kit) =>
    new kit.LlmAgent({ name, model: kit.model(name), description: `Agent ${name}.`, ...more });

export const workflowScenarios: Scenario[] = [
  {
    name: 'a sequence, the second reading what the first wrote',
    section: '§4.1',
    parts: {
      pipeline: (kit) =>
        new kit.SequentialAgent({ name: 'pipeline', subAgents: [kit.agent('writer'), kit.agent('editor')] }),
      writer: speaker('writer', { outputKey: 'draft' }),
      editor: speaker('editor', { instruction: 'Edit: {draft}' }),
    },
    root: 'pipeline',
    script: { writer: [{ text: 'a draft' }], editor: [{ text: 'edited' }] },
    turns: ['write'],
  },
  {
    name: 'a sequence that is asked twice begins at its start again',
    section: '§4.1',
    parts: {
      pipeline: (kit) =>
        new kit.SequentialAgent({ name: 'pipeline', subAgents: [kit.agent('one'), kit.agent('two')] }),
      one: speaker('one'),
      two: speaker('two'),
    },
    root: 'pipeline',
    script: { one: [{ text: '1' }, { text: '3' }], two: [{ text: '2' }, { text: '4' }] },
    turns: ['go', 'again'],
  },
  {
    name: 'a loop to its limit',
    section: '§4.3',
    parts: {
      loop: (kit) => new kit.LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [kit.agent('one')] }),
      one: speaker('one'),
    },
    root: 'loop',
    script: { one: [{ text: 'first' }, { text: 'second' }] },
    turns: ['go'],
  },
  {
    name: 'a loop that an agent ends',
    section: '§4.3',
    parts: {
      loop: (kit) =>
        new kit.LoopAgent({
          name: 'loop',
          maxIterations: 5,
          subAgents: [kit.agent('writer'), kit.agent('critic')],
        }),
      writer: speaker('writer'),
      critic: (kit) =>
        new kit.LlmAgent({ name: 'critic', model: kit.model('critic'), tools: [kit.EXIT_LOOP] }),
    },
    root: 'loop',
    script: {
      writer: [{ text: 'bad' }, { text: 'good' }],
      critic: [{ text: 'again' }, { calls: [{ name: 'exit_loop', args: {} }] }],
    },
    turns: ['go'],
  },
  {
    name: 'branches that do not see each other',
    section: '§4.2',
    parts: {
      fan: (kit) => new kit.ParallelAgent({ name: 'fan', subAgents: [kit.agent('left')] }),
      left: speaker('left', { outputKey: 'left_said' }),
    },
    root: 'fan',
    script: { left: [{ text: 'left' }] },
    turns: ['go'],
  },
  {
    name: 'a sequence in which an agent calls a tool',
    section: '§4.1',
    parts: {
      pipeline: (kit) =>
        new kit.SequentialAgent({ name: 'pipeline', subAgents: [kit.agent('worker'), kit.agent('teller')] }),
      worker: (kit) =>
        new kit.LlmAgent({ name: 'worker', model: kit.model('worker'), tools: [kit.tool('count')] }),
      teller: speaker('teller'),
      count: (kit) =>
        new kit.FunctionTool({ name: 'count', description: 'counts', execute: () => ({ n: 3 }) }),
    },
    root: 'pipeline',
    script: {
      worker: [{ calls: [{ name: 'count', args: {} }] }, { text: 'counted' }],
      teller: [{ text: 'three' }],
    },
    turns: ['go'],
  },
];
