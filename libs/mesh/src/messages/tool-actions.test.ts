import { createEventActions } from '@agentmesh/agent';
import type { EventActions } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { readWrites, sortActions } from './tool-actions.ts';

const rights = { callId: 'c1', writes: [], asksSignIn: false } as const;
const sort = (actions: object, more: Partial<Parameters<typeof sortActions>[1]> = {}) =>
  sortActions(actions as Partial<EventActions>, { ...rights, ...more });

describe('the actions of a remote tool', () => {
  it('that stay within its call are kept', () => {
    const actions = {
      ...createEventActions({ stateDelta: { a: 1, 'temp:b': 2 } }),
      ...{ artifactDelta: { 'a.txt': 1 }, skipSummarization: true, escalate: true, transferToAgent: 'other' },
      requestedToolConfirmations: { c1: { hint: 'sure?' } },
      requestedInputs: { c1: { message: 'how many?' } },
    };
    expect(sort(actions)).toEqual({ own: actions, refused: [] });
  });

  it.each([
    ['the state of the user', { stateDelta: { 'user:a': 1 } }, 'the state user:a'],
    ['the state of the app', { stateDelta: { 'app:a': 1 } }, 'the state app:a'],
    ['a rewind', { rewindBeforeInvocationId: 'e-1', rewindFromSeq: 1 }, 'rewindBeforeInvocationId'],
    ['a summary', { compaction: { compactedContent: 'nothing was said' } }, 'compaction'],
    ['the end of calls', { closedCalls: ['c9'] }, 'closedCalls'],
    ['the position of the agent', { agentState: {}, endOfAgent: true }, 'agentState'],
    ['an action of a newer version', { unknown: 1 }, 'unknown'],
    ['a question about another call', { requestedToolConfirmations: { c2: {} } }, 'a question about call c2'],
    ['an input for another call', { requestedInputs: { c2: {} } }, 'a question about call c2'],
    ['a sign-in', { requestedAuthConfigs: { c1: { credentialKey: 'k' } } }, 'a sign-in'],
  ])('that reach beyond it are left out: %s', (_name, actions, name) => {
    const { own, refused } = sort(actions);
    expect(refused).toContain(name);
    expect(JSON.stringify(own)).not.toMatch(/user:a|app:a|e-1|said|c9|agentState|unknown|c2|"k"/);
  });

  it('may change what the agent allows', () => {
    const stateDelta = { 'user:a': 1, 'app:b': 2 };
    expect(sort({ stateDelta }, { writes: ['user'] })).toEqual({
      own: { stateDelta: { 'user:a': 1 } },
      refused: ['the state app:b'],
    });
    const requestedAuthConfigs = { c1: { credentialKey: 'k' } };
    expect(sort({ requestedAuthConfigs }, { asksSignIn: true }).own).toMatchObject({ requestedAuthConfigs });
  });
});

it.each([['users'], [['user:']], ['user'], [[1]]])('refuses the scopes %j', (writes) => {
  expect(() => readWrites('remoteTool pay', writes as never)).toThrow('remoteTool pay: writes is');
});
