import type { Scenario } from '../kit.ts';
import { call, llm, say, tool } from './parts.ts';

const five = tool('five', () => 5);
const fails = tool('fails', () => {
  throw new Error('disk full');
});

export const resultScenarios: Scenario[] = [
  {
    name: 'a scalar result is wrapped',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['five'] }), five },
    root: 'root',
    script: { root: [call('five'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a list result is wrapped',
    differs: ['D40'],
    section: '§3.7',
    parts: { root: llm('root', { tools: ['list'] }), list: tool('list', () => ['a', 'b']) },
    root: 'root',
    script: { root: [call('list'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a result of null',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['nothing'] }), nothing: tool('nothing', () => null) },
    root: 'root',
    script: { root: [call('nothing'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a tool that returns nothing',
    section: '§3.7',
    differs: ['D6'],
    parts: { root: llm('root', { tools: ['nothing'] }), nothing: tool('nothing', () => undefined) },
    root: 'root',
    script: { root: [call('nothing'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'dates and missing values within a result',
    section: '§1.2',
    parts: {
      root: llm('root', { tools: ['when'] }),
      when: tool('when', () => ({ at: new Date(0), no: undefined, list: [undefined, null] })),
    },
    root: 'root',
    script: { root: [call('when'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a result that is a date',
    section: '§3.7',
    differs: ['D6'],
    parts: { root: llm('root', { tools: ['when'] }), when: tool('when', () => new Date(0)) },
    root: 'root',
    script: { root: [call('when'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a result that JSON cannot hold',
    section: '§3.7',
    differs: ['D6'],
    parts: { root: llm('root', { tools: ['big'] }), big: tool('big', () => ({ n: 10n })) },
    root: 'root',
    script: { root: [call('big'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'a tool that throws',
    section: '§2.7',
    parts: { root: llm('root', { tools: ['fails'] }), fails },
    root: 'root',
    script: { root: [call('fails'), say('pity')] },
    turns: ['go'],
  },
  {
    name: 'a tool that throws what is no error',
    section: '§2.7',
    parts: {
      root: llm('root', { tools: ['throws'] }),
      throws: tool('throws', () => {
        throw 'words';
      }),
    },
    root: 'root',
    script: { root: [call('throws'), say('pity')] },
    turns: ['go'],
  },
  {
    name: 'a tool that writes to the state and throws',
    section: '§2.7',
    parts: {
      root: llm('root', { tools: ['throws'] }),
      throws: tool('throws', (_args, { state }) => {
        state.set('begun', true);
        throw new Error('disk full');
      }),
    },
    root: 'root',
    script: { root: [call('throws'), say('pity')] },
    turns: ['go'],
  },
];
