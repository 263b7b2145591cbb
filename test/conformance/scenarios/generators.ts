import type { Scenario } from '../kit.ts';
import { answer, call, calls, llm, longRunning, say, tool } from './parts.ts';

const scenario = (name: string, work: ReturnType<typeof tool>, more: Partial<Scenario> = {}): Scenario => ({
  name,
  section: '§5.3',
  differs: ['D53'],
  parts: { root: llm('root', { tools: ['work'] }), work },
  root: 'root',
  script: { root: [call('work'), say('done'), say('spare')] },
  turns: ['go'],
  ...more,
});

/** Seed 004: a tool yields intermediate responses and returns the last one. */
export const generatorScenarios: Scenario[] = [
  scenario(
    'a long-running generator that yields and returns',
    longRunning('work', async function* () {
      yield { percent: 50 };
      yield { percent: 90 };
      return { status: 'completed' };
    }),
  ),
  scenario(
    'a long-running generator that returns nothing',
    longRunning('work', async function* () {
      yield { percent: 50 };
    }),
  ),
  scenario(
    'a long-running generator that is no async one',
    longRunning('work', function* () {
      yield { percent: 50 };
      return 'all of it';
    }),
  ),
  scenario(
    'a generator as an ordinary tool',
    tool('work', async function* () {
      yield 'half';
      return { all: true };
    }),
  ),
  scenario(
    'a generator that writes to the state',
    longRunning('work', async function* (_args, { state }) {
      state.set('begun', true);
      yield { percent: 50 };
      state.set('ended', true);
      return { ok: true };
    }),
  ),
  scenario(
    'a generator that throws after its first news',
    longRunning('work', async function* () {
      yield { percent: 50 };
      throw new Error('no');
    }),
  ),
  scenario(
    'a generator that skips the summary',
    longRunning('work', async function* (_args, { actions }) {
      yield { percent: 50 };
      actions.skipSummarization = true;
      return { ok: true };
    }),
  ),
  scenario(
    'a generator beside an ordinary call',
    longRunning('work', async function* () {
      yield { percent: 50 };
      return { ok: true };
    }),
    {
      parts: {
        root: llm('root', { tools: ['work', 'count'] }),
        work: longRunning('work', async function* () {
          yield { percent: 50 };
          return { ok: true };
        }),
        count: tool('count', () => ({ n: 3 })),
      },
      script: { root: [calls('work', 'count'), say('done'), say('spare')] },
      inParallel: true,
    },
  ),
  scenario(
    'an answer to a generator that has had its last word',
    longRunning('work', async function* () {
      yield { percent: 50 };
      return { ok: true };
    }),
    { differs: ['D53', 'D27'], turns: ['go', answer({ work: { status: 'late' } })] },
  ),
];
