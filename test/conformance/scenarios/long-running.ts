import type { Scenario } from '../kit.ts';
import { answer, call, calls, llm, longRunning, loop, parallel, say, sequence, to, tool } from './parts.ts';

const approve = longRunning('approve', () => ({ status: 'pending', ticket: 't-1' }));
const silent = longRunning('silent', () => undefined);
const other = longRunning('other', () => undefined);
const count = tool('count', () => ({ n: 3 }));
const yes = { status: 'approved' };

export const longRunningScenarios: Scenario[] = [
  {
    name: 'a long-running tool with a ticket, answered later',
    section: '§5.3',
    parts: { root: llm('root', { tools: ['approve'] }), approve },
    root: 'root',
    script: { root: [call('approve'), say('waiting'), say('approved'), say('bye')] },
    turns: ['go', answer({ approve: yes }), 'thanks'],
  },
  {
    name: 'a long-running tool without a first result, answered later',
    section: '§5.3',
    parts: { root: llm('root', { tools: ['silent'] }), silent },
    root: 'root',
    script: { root: [call('silent'), say('approved')] },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'news of a long-running call, then its result',
    section: '§5.3',
    parts: { root: llm('root', { tools: ['approve'] }), approve },
    root: 'root',
    script: { root: [call('approve'), say('waiting'), say('half'), say('done')] },
    turns: ['go', answer({ approve: { status: 'half' } }, { willContinue: true }), answer({ approve: yes })],
  },
  {
    name: 'a long-running call that is answered twice',
    section: '§5.3',
    differs: ['D27'],
    parts: { root: llm('root', { tools: ['approve'] }), approve },
    root: 'root',
    script: { root: [call('approve'), say('waiting'), say('approved'), say('not after all')] },
    turns: ['go', answer({ approve: yes }), answer({ approve: { status: 'denied' } })],
  },
  {
    name: 'a long-running call beside an ordinary one',
    section: '§1.4',
    parts: { root: llm('root', { tools: ['approve', 'count'] }), approve, count },
    root: 'root',
    script: { root: [calls('approve', 'count'), say('waiting'), say('approved')] },
    turns: ['go', answer({ approve: yes })],
  },
  {
    name: 'a long-running call without a first result beside an ordinary one',
    section: '§3.7',
    differs: ['B21', 'D10'],
    parts: { root: llm('root', { tools: ['silent', 'count'] }), silent, count },
    root: 'root',
    script: { root: [calls('silent', 'count'), say('three so far'), say('approved')] },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'two long-running calls, answered together',
    section: '§5.3',
    parts: { root: llm('root', { tools: ['silent', 'other'] }), silent, other },
    root: 'root',
    script: { root: [calls('silent', 'other'), say('both')] },
    turns: ['go', answer({ silent: yes, other: { status: 'denied' } })],
  },
  {
    name: 'two long-running calls, answered one by one',
    section: '§5.3',
    differs: ['B21'],
    parts: { root: llm('root', { tools: ['silent', 'other'] }), silent, other },
    root: 'root',
    script: { root: [calls('silent', 'other'), say('one'), say('both')] },
    turns: ['go', answer({ silent: yes }), answer({ other: yes })],
  },
  {
    name: 'other talk while a long-running call has its first result',
    section: '§5.3',
    parts: { root: llm('root', { tools: ['approve'] }), approve },
    root: 'root',
    script: { root: [call('approve'), say('waiting'), say('still waiting'), say('approved')] },
    turns: ['go', 'how is it going?', answer({ approve: yes })],
  },
  {
    name: 'other talk while a long-running call has no result',
    section: '§6.2',
    differs: ['B21'],
    parts: { root: llm('root', { tools: ['silent'] }), silent },
    root: 'root',
    script: { root: [call('silent'), say('still waiting'), say('approved')] },
    turns: ['go', 'how is it going?', answer({ silent: yes })],
  },
  {
    name: 'an answer to a call of the agent that has the word',
    section: '§2.3',
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['approve'] }),
      approve,
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [call('approve'), say('waiting'), say('approved')] },
    turns: ['go', answer({ approve: yes })],
  },
  {
    name: 'an answer to a call of an agent that may not keep the word',
    section: '§2.3',
    differs: ['B17'],
    parts: {
      boss: llm('boss', { subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['silent'], disallowTransferToParent: true }),
      silent,
    },
    root: 'boss',
    script: { boss: [to('helper'), say('what was that?')], helper: [call('silent'), say('approved')] },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'a sequence waits for a long-running call',
    section: '§4.1',
    differs: ['B4'],
    parts: {
      line: sequence('line', 'first', 'second'),
      first: llm('first', { tools: ['silent'] }),
      second: llm('second'),
      silent,
    },
    root: 'line',
    script: { first: [call('silent'), say('approved')], second: [say('then this'), say('again')] },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'an answer to a call, shown with the current turn alone',
    section: '§3.5',
    parts: { root: llm('root', { tools: ['approve'], includeContents: 'none' }), approve },
    root: 'root',
    script: { root: [call('approve'), say('waiting'), say('still'), say('approved'), say('bye')] },
    turns: ['go', 'how is it going?', answer({ approve: yes }), 'thanks'],
  },
  {
    name: 'a loop waits for a long-running call',
    section: '§4.3',
    differs: ['B4'],
    parts: {
      round: loop('round', 2, 'first', 'second'),
      first: llm('first', { tools: ['silent'] }),
      second: llm('second'),
      silent,
    },
    root: 'round',
    script: {
      first: [call('silent'), say('approved'), say('once more'), say('and again')],
      second: [say('1'), say('2'), say('3'), say('4')],
    },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'a branch waits for a long-running call',
    section: '§4.2',
    differs: ['B4'],
    parts: {
      fan: parallel('fan', 'left', 'right'),
      left: llm('left', { tools: ['silent'] }),
      right: llm('right'),
      silent,
    },
    root: 'fan',
    script: { left: [call('silent'), say('approved')], right: [say('R')] },
    turns: ['go', answer({ silent: yes })],
    inParallel: true,
  },
  {
    name: 'words beside a long-running call',
    section: '§3.6',
    differs: ['D21'],
    parts: { root: llm('root', { tools: ['silent'], outputKey: 'said' }), silent },
    root: 'root',
    script: { root: [{ text: 'I ask', calls: [{ name: 'silent', args: {} }] }, say('done')] },
    turns: ['go', answer({ silent: yes })],
  },
  {
    name: 'words beside an answer',
    section: '§3.5',
    differs: ['D22'],
    parts: { root: llm('root', { tools: ['silent'] }), silent },
    root: 'root',
    script: { root: [call('silent'), say('done'), say('bye')] },
    turns: [
      'go',
      (events) => {
        const { parts = [] } = answer({ silent: yes })(events);
        return { role: 'user', parts: [...parts, { text: 'and hurry' }] };
      },
      'thanks',
    ],
  },
];
