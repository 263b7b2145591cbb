import { versionKey } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { scenarioOf } from './scenarios/scenarios.ts';
import { simulate } from './simulate.ts';

it('splits sessions between the versions of a canary, until it ends', async () => {
  const { history, violations } = await simulate('7', scenarioOf('canary'));
  expect(violations).toEqual([]);
  const first = new Set(history.messages.filter(({ repeats }) => !repeats).map(({ id }) => id));
  expect(first.size).toBe(6);
  const versions = history.sessions.map(({ events }) => {
    const { invocationId } = events[0]?.event ?? {};
    const own = events.filter(({ event }) => event.invocationId === invocationId);
    return new Set(own.flatMap(({ event }) => event.customMetadata?.[versionKey] ?? []));
  });
  expect(versions.map(({ size }) => size)).toEqual([1, 1, 1]);
  expect(new Set(versions.flatMap((each) => [...each]))).toEqual(new Set(['1.0.0', '2.0.0']));
});
