import { expect, it } from 'vitest';
import { check } from './check/rules.ts';
import { tellStory } from './check/story.fixture.ts';
import { makePlan } from './plan/plan.ts';
import { describe, figuresOf, violatingHistory } from './report.ts';
import { type ChaosResult, defaultSettings } from './run-chaos.ts';
import { emptyTraffic } from './traffic.ts';

function resultOf({ history }: ReturnType<typeof tellStory>): ChaosResult {
  const plan = makePlan({ ...defaultSettings, seed: 1, runs: 1, mixes: [] });
  const times = { trafficMs: 1_000, totalMs: 2_000 };
  return {
    history,
    violations: check(history),
    redeliveries: 3,
    lostPayloads: 0,
    traffic: emptyTraffic(),
    plan,
    ...times,
  };
}

it('counts each message once, however often its client tried', () => {
  const story = tellStory();
  const figures = figuresOf(resultOf(story));
  expect(figures.offered).toBe(story.history.messages.filter(({ repeats }) => repeats === undefined).length);
  // The records of two runs are gone with their sessions.
  expect(figures.deleted).toBe(2);
  expect(figures.accepted).toBe(figures.completed + figures.failed + 2);
  expect(Object.values(figures.failures).reduce((sum, count) => sum + count, 0)).toBe(figures.failed);
  expect(figures).toMatchObject({ failed: 4, redeliveries: 3, violations: 0, reconnects: 1 });
});

it('prints the violations by rule, and saves what is near them', () => {
  const story = tellStory();
  story.main.state.mood = 'bad';
  const result = resultOf(story);
  expect(describe(result)).toContain('violations    1: state-is-sum 1');
  const other = { ...story.main, userId: 'bob' };
  story.history.sessions.push(other);
  const saved = violatingHistory(1, story.history, result.violations);
  expect(saved.sessions).toContain(story.main);
  expect(saved.sessions).not.toContain(other);
  expect(saved.messages).toHaveLength(story.history.messages.length);
});
