import type { BaseAgent, Event, InvocationContext } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { asked, call, llm, loop, note, parallel, say, sequence, to, words } from './parts.ts';

type Run = (
  kit: Kit,
  context: InvocationContext,
  agent: { name: string; subAgents: readonly BaseAgent[] },
) => AsyncGenerator<Event, void, void>;

/** Makes an agent whose code is `run`. */
const own =
  (name: string, run: Run, subAgents: string[] = [], more: object = {}) =>
  (kit: Kit) =>
    new (class extends kit.BaseAgent {
      protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        return run(kit, context, this);
      }
    })({ name, description: `Agent ${name}.`, subAgents: subAgents.map(kit.agent), ...more });

/** Yields an event with a text and the right author. */
const says = (text: string, actions: object = {}): Run =>
  async function* (kit, { invocationId, branch }, { name }) {
    yield kit.createEvent({
      author: name,
      invocationId,
      ...(branch !== undefined && { branch }),
      content: words(text),
      actions,
    });
  };

const scenario = (name: string, more: Pick<Scenario, 'parts' | 'root'> & Partial<Scenario>): Scenario => ({
  name,
  section: '§4.6',
  script: {},
  turns: ['go'],
  ...more,
});

export const ownCodeScenarios: Scenario[] = [
  scenario('an event of own code without author and invocation', {
    differs: ['D51'],
    parts: {
      mine: own('mine', async function* (kit) {
        yield kit.createEvent({ content: words('unsigned') });
      }),
    },
    root: 'mine',
    turns: ['go', 'again'],
  }),
  scenario('an event of own code in the name of the user', {
    differs: ['D52'],
    parts: {
      mine: own('mine', async function* (kit, { invocationId }) {
        yield kit.createEvent({
          author: 'user',
          invocationId,
          content: { role: 'user', parts: [{ text: 'as if' }] },
        });
        yield kit.createEvent({ author: 'mine', invocationId, content: words('said') });
      }),
    },
    root: 'mine',
  }),
  scenario('an event of own code that only writes to the state', {
    parts: {
      mine: own('mine', async function* (kit, { invocationId }, { name }) {
        yield kit.createEvent({ author: name, invocationId, actions: { stateDelta: { a: 1, 'user:b': 2 } } });
      }),
    },
    root: 'mine',
  }),
  scenario('passing state in an event of own code', {
    differs: ['D50'],
    parts: {
      line: sequence('line', 'mine', 'last'),
      mine: own('mine', says('noted', { stateDelta: { 'temp:t': 1 } })),
      last: llm('last', { instruction: '«{temp:t?}»' }),
    },
    root: 'line',
    script: { last: [say('ok')] },
  }),
  scenario('own code that says nothing', {
    parts: {
      line: sequence('line', 'mine', 'last'),
      mine: own('mine', async function* () {}),
      last: llm('last'),
    },
    root: 'line',
    script: { last: [say('ok')] },
  }),
  scenario('own code that throws after its first words', {
    parts: {
      mine: own('mine', async function* (kit, context, agent) {
        yield* says('first')(kit, context, agent);
        throw new Error('no');
      }),
    },
    root: 'mine',
  }),
  scenario('own code as a tool', {
    parts: { root: llm('root', { tools: [asked('mine')] }), mine: own('mine', says('forty-two')) },
    root: 'root',
    script: { root: [call('mine', { request: 'x' }), say('ok')] },
  }),
  scenario('own code that writes to the state as a tool', {
    parts: {
      root: llm('root', { tools: [asked('mine')], instruction: '«{answer?}»' }),
      mine: own('mine', says('done', { stateDelta: { answer: 42 } })),
    },
    root: 'root',
    script: { root: [call('mine', { request: 'x' }), say('ok')] },
  }),
  scenario('own code in each round of a loop, which it ends', {
    parts: {
      round: loop('round', 4, 'mine', 'writer'),
      mine: own('mine', async function* (kit, context, agent) {
        const n = Number(context.session.state.n ?? 0) + 1;
        yield* says(`round ${n}`, { stateDelta: { n }, ...(n === 3 && { escalate: true }) })(
          kit,
          context,
          agent,
        );
      }),
      writer: llm('writer'),
    },
    root: 'round',
    script: { writer: [say('1'), say('2'), say('3'), say('never')] },
  }),
  scenario('own code that runs an agent again and again', {
    parts: {
      mine: own(
        'mine',
        async function* (_kit, context, { subAgents: [writer] }) {
          for (let n = 0; writer && n < 3; n += 1) yield* writer.runAsync(context);
        },
        ['writer'],
      ),
      writer: llm('writer', { outputKey: 'draft' }),
    },
    root: 'mine',
    script: { writer: [say('1'), say('2'), say('3')] },
  }),
  scenario('own code that runs an agent until the state says so', {
    parts: {
      mine: own(
        'mine',
        async function* (_kit, context, { subAgents: [writer] }) {
          while (writer && context.session.state.draft !== 'good') yield* writer.runAsync(context);
        },
        ['writer'],
      ),
      writer: llm('writer', { outputKey: 'draft' }),
    },
    root: 'mine',
    script: { writer: [say('bad'), say('better'), say('good'), say('never')] },
  }),
  scenario('own code that runs a sequence and a branch', {
    parts: {
      mine: own(
        'mine',
        async function* (kit, context, agent) {
          for (const each of agent.subAgents) yield* each.runAsync(context);
          yield* says('all done')(kit, context, agent);
        },
        ['line', 'fan'],
      ),
      line: sequence('line', 'one', 'two'),
      fan: parallel('fan', 'three'),
      one: llm('one'),
      two: llm('two'),
      three: llm('three'),
    },
    root: 'mine',
    script: { one: [say('1')], two: [say('2')], three: [say('3')] },
  }),
  scenario('own code that a callback answers for', {
    parts: {
      mine: own('mine', says('never'), [], {
        beforeAgentCallback: () => words('not today'),
        afterAgentCallback: note('never'),
      }),
    },
    root: 'mine',
  }),
  scenario('callbacks around own code', {
    parts: {
      mine: own('mine', says('said'), [], {
        beforeAgentCallback: note('before'),
        afterAgentCallback: [note('after'), () => words('and done')],
      }),
    },
    root: 'mine',
  }),
  scenario('own code below an agent that hands over to it, over two turns', {
    parts: { boss: llm('boss', { subAgents: ['mine'] }), mine: own('mine', says('mine')) },
    root: 'boss',
    script: { boss: [to('mine'), say('boss again')] },
    turns: ['go', 'and?'],
  }),
  scenario('own code in a branch', {
    parts: { fan: parallel('fan', 'mine', 'right'), mine: own('mine', says('M')), right: llm('right') },
    root: 'fan',
    script: { right: [say('R')] },
    inParallel: true,
  }),
  scenario('own code that tells of a file and of words about it', {
    parts: {
      mine: own('mine', async function* (kit, { invocationId }, { name }) {
        yield kit.createEvent({
          author: name,
          invocationId,
          content: words('one'),
          customMetadata: { step: 1 },
        });
        yield kit.createEvent({
          author: name,
          invocationId,
          content: words('two'),
          customMetadata: { step: 2 },
        });
      }),
    },
    root: 'mine',
  }),
  scenario('own code that ends the invocation behind its words', {
    parts: {
      line: sequence('line', 'mine', 'last'),
      mine: own(
        'mine',
        async function* (kit, context, agent) {
          yield* says('enough')(kit, context, agent);
          context.endInvocation = true;
        },
        [],
        { afterAgentCallback: note('never') },
      ),
      last: llm('last'),
    },
    root: 'line',
    script: { last: [say('end')] },
  }),
  scenario('own code that reads what the user said', {
    parts: {
      mine: own('mine', async function* (kit, context, agent) {
        const text = context.userContent?.parts?.[0]?.text ?? 'nothing';
        yield* says(`you said ${text}`)(kit, context, agent);
      }),
    },
    root: 'mine',
    turns: ['one', 'two'],
  }),
];
