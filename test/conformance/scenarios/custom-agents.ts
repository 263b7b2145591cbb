import type { BaseAgent, Event, InvocationContext } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { call, llm, longRunning, say, sequence, tool } from './parts.ts';

/** Makes an agent that asks a second agent only when the first was in doubt. */
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

type Code = (
  kit: Kit,
  context: InvocationContext,
  children: readonly BaseAgent[],
) => AsyncGenerator<Event, void, void>;

/** Makes a custom agent above others. */
const own =
  (code: Code, ...children: string[]) =>
  (kit: Kit) =>
    new (class extends kit.BaseAgent {
      protected override runAsyncImpl(context: InvocationContext) {
        return code(kit, context, this.subAgents);
      }
    })({ name: 'own', subAgents: children.map(kit.agent) });

const textOf = ({ content }: Event) => (content?.parts ?? []).map(({ text = '' }) => text).join('');

const words = (kit: Kit, { invocationId }: InvocationContext, text: string) =>
  kit.createEvent({ author: 'own', invocationId, content: { role: 'model', parts: [{ text }] } });

const count = tool('count', (_args, { state }) => {
  const n = (state.get<number>('n') ?? 0) + 1;
  state.set('n', n);
  return { n };
});

/** Makes a custom agent above one child with a tool. */
const above = (
  name: string,
  code: Code,
  script: Scenario['script'],
  more: Partial<Scenario> = {},
): Scenario => ({
  name: `own code ${name}`,
  section: '§4.6',
  parts: { own: own(code, 'child'), child: llm('child', { tools: ['count'] }), count },
  root: 'own',
  script,
  turns: ['go'],
  ...more,
});

async function* only(events: AsyncIterable<Event> | undefined, keep: (event: Event) => boolean) {
  if (events) for await (const event of events) if (keep(event)) yield event;
}

/** Makes a subclass of an LLM agent, with code around the flow. */
const around =
  (
    code: (
      kit: Kit,
      context: InvocationContext,
      flow: () => AsyncGenerator<Event, void, void>,
    ) => AsyncGenerator<Event, void, void>,
  ) =>
  (kit: Kit) =>
    new (class extends kit.LlmAgent {
      protected override runAsyncImpl(context: InvocationContext) {
        return code(kit, context, () => super.runAsyncImpl(context));
      }
    })({ name: 'own', model: kit.model('own'), tools: [kit.tool('count')] });

const subclass = (
  name: string,
  code: Parameters<typeof around>[0],
  script: Scenario['script'],
): Scenario => ({
  name: `a subclass of an LLM agent that ${name}`,
  section: '§4.6',
  parts: { own: around(code), count },
  root: 'own',
  script,
  turns: ['go'],
});

const ownCodeScenarios: Scenario[] = [
  above(
    'that keeps the answer of its agent back',
    async function* (kit, context, [child]) {
      const said: string[] = [];
      for await (const event of child?.runAsync(context) ?? []) said.push(textOf(event));
      yield words(kit, context, `it said ${said.join()}`);
    },
    { child: [say('draft')] },
  ),
  above(
    'that passes on what its agent says under a name of its own',
    async function* (_kit, context, [child]) {
      for await (const event of child?.runAsync(context) ?? []) yield { ...event, author: 'own' };
    },
    { child: [say('hello')] },
  ),
  above(
    'that changes the answer of its agent',
    async function* (_kit, context, [child]) {
      for await (const event of child?.runAsync(context) ?? [])
        yield { ...event, content: { role: 'model', parts: [{ text: textOf(event).toUpperCase() }] } };
    },
    { child: [say('hello')] },
  ),
  above(
    'that takes the answer of its agent away',
    async function* (_kit, context, [child]) {
      for await (const event of child?.runAsync(context) ?? []) {
        const { content: _content, ...rest } = event;
        yield rest as Event;
      }
    },
    { child: [say('secret')] },
  ),
  above(
    'that stops its agent at a call',
    async function* (kit, context, [child]) {
      for await (const event of child?.runAsync(context) ?? []) {
        if (textOf(event) === '') break;
        yield event;
      }
      yield words(kit, context, 'stopped');
    },
    { child: [call('count')] },
  ),
  above(
    'that keeps calls and results of its agent back',
    async function* (_kit, context, [child]) {
      yield* only(child?.runAsync(context), (event) => textOf(event) !== '');
    },
    { child: [call('count'), say('one')] },
    { differs: ['D79'] },
  ),
  above(
    'that passes all on, with calls among it',
    async function* (_kit, context, [child]) {
      yield* only(child?.runAsync(context), () => true);
    },
    { child: [call('count'), call('count'), say('two')] },
  ),
  above(
    'that runs its agent until it is content',
    async function* (_kit, context, [child]) {
      for (let tries = 0; tries < 5; tries += 1) {
        let isGood = false;
        for await (const event of child?.runAsync(context) ?? []) {
          isGood ||= textOf(event) === 'good';
          yield event;
        }
        if (isGood) return;
      }
    },
    { child: [say('bad'), say('worse'), say('good')] },
  ),
  above(
    'over two turns',
    async function* (_kit, context, [child]) {
      yield* only(child?.runAsync(context), (event) => !textOf(event).includes('secret'));
    },
    { child: [say('a secret'), say('no more')] },
    { turns: ['one', 'two'] },
  ),
  above(
    'with an agent that keeps its answer in the state',
    async function* (kit, context, [child]) {
      yield* only(child?.runAsync(context), () => true);
      yield words(kit, context, `kept ${context.session.state.kept}`);
    },
    { child: [say('this')] },
    {
      parts: {
        own: own(async function* (kit, context, [child]) {
          yield* only(child?.runAsync(context), () => true);
          yield words(kit, context, `kept ${context.session.state.kept}`);
        }, 'child'),
        child: llm('child', { outputKey: 'kept' }),
      },
    },
  ),
  above(
    'with streaming',
    async function* (_kit, context, [child]) {
      yield* only(child?.runAsync(context), (event) => event.partial !== true);
    },
    { child: [say('hello there')] },
    { streaming: true },
  ),
  {
    name: 'own code that gathers what two agents say',
    section: '§4.6',
    parts: {
      own: own(
        async function* (kit, context, children) {
          const said: string[] = [];
          for (const child of children)
            for await (const event of child.runAsync(context)) said.push(textOf(event));
          yield words(kit, context, said.join(' and '));
        },
        'one',
        'two',
      ),
      one: llm('one'),
      two: llm('two'),
    },
    root: 'own',
    script: { one: [say('1')], two: [say('2')] },
    turns: ['go'],
  },
  {
    name: 'own code above a sequence',
    section: '§4.6',
    parts: {
      own: own(async function* (_kit, context, [child]) {
        for await (const event of child?.runAsync(context) ?? [])
          yield { ...event, content: { role: 'model', parts: [{ text: `<${textOf(event)}>` }] } };
      }, 'line'),
      line: sequence('line', 'one', 'two'),
      one: llm('one'),
      two: llm('two'),
    },
    root: 'own',
    script: { one: [say('1')], two: [say('2')] },
    turns: ['go'],
  },
  {
    name: 'own code above an agent with a long-running tool',
    section: '§4.6',
    parts: {
      own: own(async function* (_kit, context, [child]) {
        yield* only(child?.runAsync(context), () => true);
      }, 'child'),
      child: llm('child', { tools: ['ticket'] }),
      ticket: longRunning('ticket', () => ({ status: 'open' })),
    },
    root: 'own',
    script: { child: [call('ticket'), say('it is open')] },
    turns: ['go'],
  },
  subclass(
    'says something before its model',
    async function* (kit, context, flow) {
      yield words(kit, context, 'let me think');
      yield* flow();
    },
    { own: [call('count'), say('one')] },
  ),
  subclass(
    'asks its model twice',
    async function* (_kit, _context, flow) {
      yield* flow();
      yield* flow();
    },
    { own: [say('bad'), say('good')] },
  ),
  subclass(
    'tells only a good answer',
    async function* (_kit, _context, flow) {
      for (let tries = 0; tries < 5; tries += 1)
        for await (const event of flow()) {
          if (textOf(event) !== 'good') continue;
          yield event;
          return;
        }
    },
    { own: [say('bad'), say('good')] },
  ),
];

export const customAgentScenarios: Scenario[] = [
  ...ownCodeScenarios,
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
