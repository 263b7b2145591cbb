import { cardSchema, subjects } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { encodeJson } from '../messages/json.ts';
import { createDirectory } from './directory.ts';

const names = subjects();
const cardOf = (name: string, version = '1.0.0') => cardSchema.parse({ kind: 'agent', name, version });
const bytesOf = (name: string, version?: string) => encodeJson(cardOf(name, version));

it('removes deleted cards, and keeps the older card when a new one cannot be read', () => {
  const problems: unknown[] = [];
  const { directory, sink } = createDirectory(names, (error) => problems.push(error));
  sink.set('agent.a', bytesOf('a'));
  sink.set('agent.b', bytesOf('b'));
  sink.set('agent.c', bytesOf('c'));
  sink.retain(new Set(['agent.a', 'agent.b']));
  sink.delete('agent.b');
  sink.set('agent.a', encodeJson({ kind: 'agent' }));
  expect(directory.list('agent')).toEqual([cardOf('a')]);
  expect(problems).toHaveLength(1);
});

it('calls its watchers for changes only, even when one of them throws', () => {
  const { directory, sink } = createDirectory(names, () => {});
  let told = 0;
  directory.watch(() => {
    throw new Error('a defect');
  });
  const stop = directory.watch(() => {
    told += 1;
  });
  expect(told).toBe(0);
  sink.set('agent.a', bytesOf('a'));
  expect(told).toBe(1);
  sink.delete('agent.b');
  sink.retain(new Set(['agent.a']));
  sink.set('agent.a', encodeJson('broken'));
  expect(told).toBe(1);
  sink.set('agent.a', bytesOf('a', '2.0.0'));
  expect(told).toBe(2);
  stop();
  sink.delete('agent.a');
  expect(told).toBe(2);
});
