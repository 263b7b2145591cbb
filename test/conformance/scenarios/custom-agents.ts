import type { Event, InvocationContext } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { llm, say, sequence } from './parts.ts';

/** Asks a second agent only when the first was in doubt. */
const judge = (kit: Kit) =>
  new (class extends kit.BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const [first, second] = this.subAgents;
      if (first) yield* first.runAsync(context);
      const doubt = String(context.session.state.opinion).includes('?');
      yield kit.createEvent({
        author: this.name,
        invocationId: context.invocationId,
        content: { role: 'model', parts: [{ text: doubt ? 'one more' : 'enough' }] },
        actions: { stateDelta: { doubt } },
      });
      if (doubt && second) yield* second.runAsync(context);
    }
  })({ name: 'judge', subAgents: [kit.agent('one'), kit.agent('two')] });

export const customAgentScenarios: Scenario[] = [
  {
    name: 'an agent of own code that runs both of its agents',
    section: '§4.6',
    parts: { judge, one: llm('one', { outputKey: 'opinion' }), two: llm('two') },
    root: 'judge',
    script: { one: [say('maybe?')], two: [say('surely')] },
    turns: ['go'],
  },
  {
    name: 'an agent of own code that runs one of its agents',
    section: '§4.6',
    parts: { judge, one: llm('one', { outputKey: 'opinion' }), two: llm('two') },
    root: 'judge',
    script: { one: [say('surely')], two: [] },
    turns: ['go'],
  },
  {
    name: 'an agent of own code within a sequence',
    section: '§4.6',
    parts: {
      line: sequence('line', 'judge', 'last'),
      judge,
      one: llm('one', { outputKey: 'opinion' }),
      two: llm('two'),
      last: llm('last', { instruction: '«{doubt}»' }),
    },
    root: 'line',
    script: { one: [say('maybe?')], two: [say('surely')], last: [say('end')] },
    turns: ['go'],
  },
];
