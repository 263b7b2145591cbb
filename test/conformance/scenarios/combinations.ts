import type { Scenario } from '../kit.ts';
import {
  answer,
  call,
  calls,
  llm,
  longRunning,
  loop,
  parallel,
  read,
  say,
  sequence,
  to,
  tool,
  write,
} from './parts.ts';

const echo = tool('echo', (args, { state }) => ({ args, calls: state.get('calls') ?? [] }));
const scenario = (name: string, options: object, more: Partial<Scenario> = {}): Scenario => ({
  name,
  section: '§2.5',
  parts: { root: llm('root', { tools: ['echo'], ...options }), echo },
  root: 'root',
  script: { root: [call('echo', { a: 1 }), say('done')] },
  turns: ['go'],
  ...more,
});
const line = {
  root: 'line',
  parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
  script: { one: [say('1')], two: [say('2')] },
};
export const combinationScenarios: Scenario[] = [
  scenario(
    'the current turn alone for a sub-agent, over two turns',
    {},
    {
      section: '§3.5',
      parts: {
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper', { includeContents: 'none' }),
      },
      script: { root: [say('hello'), to('helper')], helper: [say('here'), say('still here')] },
      turns: ['hi', 'go', 'and?'],
    },
  ),
  scenario(
    'the current turn alone for each step of a sequence',
    {},
    {
      section: '§3.5',
      ...line,
      parts: {
        line: sequence('line', 'one', 'two'),
        one: llm('one', { includeContents: 'none' }),
        two: llm('two', { includeContents: 'none' }),
      },
      script: { one: [say('1'), say('3')], two: [say('2'), say('4')] },
      turns: ['go', 'again'],
    },
  ),
  scenario(
    'the current turn alone while a long-running call has no result',
    { includeContents: 'none', tools: ['silent'] },
    {
      differs: ['D66'],
      section: '§3.5',
      parts: {
        root: llm('root', { includeContents: 'none', tools: ['silent'] }),
        silent: longRunning('silent', () => undefined),
      },
      script: { root: [call('silent'), say('approved')] },
      turns: ['go', answer({ silent: { status: 'approved' } })],
    },
  ),
  scenario(
    'a loop whose agents hand over',
    {},
    {
      section: '§4.3',
      root: 'round',
      parts: {
        round: loop('round', 2, 'root'),
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper'),
      },
      script: { root: [to('helper'), to('helper')], helper: [say('1'), say('2')] },
    },
  ),
  scenario(
    'a branch whose agent hands over',
    {},
    {
      section: '§4.2',
      root: 'fan',
      inParallel: true,
      parts: {
        fan: parallel('fan', 'root', 'right'),
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper'),
        right: llm('right'),
      },
      script: { root: [to('helper')], helper: [say('H')], right: [say('R')] },
    },
  ),
  scenario(
    'a transfer to a sequence, and the next turn',
    {},
    {
      section: '§3.8',
      parts: {
        root: llm('root', { subAgents: ['line'] }),
        line: (kit) =>
          new kit.SequentialAgent({
            name: 'line',
            description: 'Agent line.',
            subAgents: [kit.agent('one'), kit.agent('two')],
          }),
        one: llm('one'),
        two: llm('two'),
      },
      script: { root: [to('line'), say('root again')], one: [say('1')], two: [say('2')] },
      turns: ['go', 'and?'],
    },
  ),
  scenario(
    'three calls of one turn, one of which transfers',
    {},
    {
      section: '§3.8',
      parts: {
        root: llm('root', { tools: ['echo', 'write'], subAgents: ['helper'] }),
        helper: llm('helper', { tools: ['read'] }),
        echo,
        write,
        read,
      },
      script: {
        root: [{ calls: [...call('echo').calls, ...to('helper').calls, ...call('write', { a: 1 }).calls] }],
        helper: [call('read', { keys: ['a'] }), say('here')],
      },
    },
  ),
  scenario(
    'two transfers of one turn',
    {},
    {
      section: '§3.8',
      parts: { root: llm('root', { subAgents: ['one', 'two'] }), one: llm('one'), two: llm('two') },
      script: {
        root: [{ calls: [...to('one').calls, ...to('two').calls] }],
        one: [say('1')],
        two: [say('2')],
      },
    },
  ),
  scenario(
    'the id of the event that made a call',
    {},
    {
      section: '§5.7',
      parts: {
        root: llm('root', { tools: ['look'] }),
        look: tool('look', (_args, context) => ({
          call: typeof context.functionCallId,
          event: typeof Reflect.get(context, 'functionCallEventId'),
          invocation: context.invocationId.startsWith('e-'),
        })),
      },
      script: { root: [call('look'), say('done')] },
      differs: ['D65'],
    },
  ),
  scenario(
    'results that look like a wrapped one',
    {},
    {
      section: '§3.7',
      parts: {
        root: llm('root', { tools: ['one', 'two', 'three'] }),
        one: tool('one', () => ({ result: 1 })),
        two: tool('two', () => ({ output: [1, 2], error: null })),
        three: tool('three', () => ({})),
      },
      script: { root: [calls('one', 'two', 'three'), say('done')] },
    },
  ),
  scenario(
    'lists of lists, and an empty one, as results',
    {},
    {
      section: '§3.7',
      differs: ['D40'],
      parts: {
        root: llm('root', { tools: ['one', 'two'] }),
        one: tool('one', () => [[1, [2]], { a: [3] }]),
        two: tool('two', () => []),
      },
      script: { root: [calls('one', 'two'), say('done')] },
    },
  ),
  scenario(
    'a tool that waits for another one of the same turn',
    {},
    {
      section: '§3.7',
      differs: ['B3'],
      parts: {
        root: (kit) => {
          const { promise, resolve } = Promise.withResolvers<string>();
          const late = new Promise<string>((done) => setTimeout(done, 3_000, 'alone').unref());
          const waits = tool('waits', async () => await Promise.race([promise, late]));
          const comes = tool('comes', () => {
            resolve('together');
            return 'here';
          });
          return llm('root', { tools: [waits, comes] })(kit);
        },
      },
      script: { root: [calls('waits', 'comes'), say('done')] },
    },
  ),
  scenario(
    'a toolset that is closed only with its runner',
    {},
    {
      section: '§5.5',
      differs: ['B16'],
      parts: {
        root: (kit) => {
          let closed = 0;
          const set = new (class extends kit.BaseToolset {
            async getTools() {
              return [tool('look', () => ({ closed }))(kit)];
            }
            override async close() {
              closed += 1;
            }
          })([]);
          return llm('root', { tools: [() => set] })(kit);
        },
      },
      script: { root: [call('look'), say('1'), call('look'), say('2')] },
      turns: ['go', 'again'],
    },
  ),
  scenario(
    'code that the model wrote is run',
    {},
    {
      section: '§3.9',
      differs: ['B18'],
      parts: {
        root: (kit) => llm('root', { codeExecutor: new kit.UnsafeLocalCodeExecutor() })(kit),
      },
      script: { root: [say('```python\nprint(6 * 7)\n```'), say('forty-two')] },
    },
  ),
  scenario(
    'a router with a second agent for one whose model fails',
    {},
    {
      section: '§4.6',
      differs: ['B24'],
      root: 'route',
      parts: {
        route: (kit) =>
          new kit.RoutedAgent({
            name: 'route',
            agents: { one: kit.agent('one'), two: kit.agent('two') },
            router: (_agents: unknown, _context: unknown, failed?: { failedKeys: ReadonlySet<string> }) =>
              failed?.failedKeys.has('one') ? 'two' : 'one',
          } as never),
        one: llm('one'),
        two: llm('two'),
      },
      script: { one: [{ error: { status: 400, message: 'no' } }], two: [say('instead')] },
    },
  ),
];
