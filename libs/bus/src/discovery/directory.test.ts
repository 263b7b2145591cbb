import { cardSchema, subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
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

describe('a card with a field that is not known', () => {
  const card = { kind: 'tool', name: 'clock', declaration: { name: 'clock', later: 1 }, longRuning: true };

  it('is not used when a program without agentmesh wrote it, and the error names the field', () => {
    const problems: string[] = [];
    const { directory, sink } = createDirectory(names, (error) => problems.push(String(error)));
    sink.set('tool.clock', encodeJson(card));
    expect(directory.get('tool', 'clock')).toBeUndefined();
    expect(problems).toEqual([
      expect.stringContaining(
        'card tool.clock is not valid: field "longRuning" is not known; did you mean longRunning?',
      ),
    ]);
  });

  it('is used without the field when a replica wrote it, which may be newer', () => {
    const { directory, sink } = createDirectory(names, (error) => expect.fail(String(error)));
    sink.set('tool.clock', encodeJson({ ...card, replica: 'tool_clock-1-00000000' }));
    expect(directory.get('tool', 'clock')).toMatchObject({ longRunning: false });
    expect(directory.get('tool', 'clock')).not.toHaveProperty('longRuning');
  });
});
