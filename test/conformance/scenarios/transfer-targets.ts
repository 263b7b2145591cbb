import type { Event, InvocationContext } from '@agentmesh/agent';
import { z } from 'zod';
import type { Kit, Scenario } from '../kit.ts';
import { call, llm, say, to, tool } from './parts.ts';

const boss = llm('boss', { subAgents: ['helper'] });
const helper = llm('helper', { subAgents: ['expert'] });
const expert = llm('expert');

const own = (kit: Kit) =>
  new (class extends kit.BaseAgent {
    protected override async *runAsyncImpl({
      invocationId,
    }: InvocationContext): AsyncGenerator<Event, void, void> {
      const content = { role: 'model', parts: [{ text: 'by my own code' }] };
      yield kit.createEvent({ author: this.name, invocationId, content });
    }
  })({ name: 'own', description: 'Has code of its own.' });

export const transferTargetScenarios: Scenario[] = [
  {
    name: 'a transfer by the model past a sub-agent',
    section: '§3.8',
    differs: ['D18'],
    parts: { boss, helper, expert },
    root: 'boss',
    script: { boss: [to('expert'), say('then I do it')], helper: [], expert: [say('here')] },
    turns: ['one'],
  },
  {
    name: 'a transfer by the model to a parent that it may not give back to',
    section: '§3.8',
    differs: ['D18'],
    parts: {
      boss: llm('boss', { subAgents: ['helper', 'peer'] }),
      helper: llm('helper', { disallowTransferToParent: true }),
      peer: llm('peer'),
    },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [to('boss'), say('then I do it')], peer: [] },
    turns: ['one'],
  },
  {
    name: 'a transfer to an agent of own code',
    section: '§4.6',
    parts: { boss: llm('boss', { subAgents: ['own'] }), own },
    root: 'boss',
    script: { boss: [to('own')] },
    turns: ['one'],
  },
  {
    name: 'a transfer to an agent that answers in a form',
    section: '§2.3',
    parts: {
      boss,
      helper: llm('helper', { outputSchema: z.object({ a: z.number() }), outputKey: 'said' }),
    },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [say('{"a": 1}')] },
    turns: ['one', 'two'],
  },
  {
    name: 'what a tool knows after a transfer',
    section: '§5.7',
    parts: {
      boss,
      helper: llm('helper', { tools: ['where'] }),
      where: tool('where', (_args, { agentName, userContent, userId, sessionId, functionCallId }) => ({
        agentName,
        userContent,
        userId,
        sessionId,
        functionCallId,
      })),
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [call('where'), say('there')] },
    turns: ['one'],
  },
  {
    name: 'an agent below one that may not give back does not keep the word',
    section: '§2.3',
    parts: {
      boss,
      helper: llm('helper', { subAgents: ['expert'], disallowTransferToParent: true }),
      expert,
    },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [to('expert')], expert: [say('here')] },
    turns: ['one', 'two'],
  },
];
