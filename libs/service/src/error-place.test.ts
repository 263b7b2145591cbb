import { MeshError } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { errorPlace } from './error-place.ts';

/** Makes an error with a stack of our own. */
function thrownAt(...frames: string[]): Error {
  const error = new Error('boom');
  error.stack = ['Error: boom', ...frames.map((each) => `    at ${each}`)].join('\n');
  return error;
}

const ofPackage = 'parse (/shop/node_modules/zod/index.js:1:2)';

describe('the place of an error', () => {
  it.each([
    ['a function', ['execute (file:///shop/tools/rate/tool.ts:7:11)'], 'tools/rate/tool.ts:7:11'],
    ['a module', ['async file:///shop/agents/a/agent.ts:3:1'], 'agents/a/agent.ts:3:1'],
    ['a path', ['Object.execute [as run] (/else/tool.ts:7:11)'], '/else/tool.ts:7:11'],
    ['a package', [ofPackage, 'async run (/shop/tools/tool.ts:9:5)'], 'tools/tool.ts:9:5'],
    ['a package alone', [ofPackage, 'node:internal/modules/run:5:9'], 'node_modules/zod/index.js:1:2'],
    ['Node', ['process (node:internal/process/task_queues:104:5)', 'new Promise (<anonymous>)'], undefined],
  ])('is found in %s', (_, frames, place) => {
    expect(errorPlace(thrownAt(...frames), '/shop')).toBe(place);
  });

  it('is that of the innermost cause', () => {
    const cause = thrownAt('execute (/shop/tool.ts:1:1)');
    expect(errorPlace(new MeshError('internal', 'agent a failed', { cause }), '/shop')).toBe('tool.ts:1:1');
  });

  it('is that of this line for a real error, and none for a value that is no error', () => {
    expect(errorPlace(new Error('here'), import.meta.dirname)).toMatch(/^error-place\.test\.ts:\d+:\d+$/);
    expect(errorPlace('text')).toBeUndefined();
    const circle = new Error('round');
    circle.cause = circle;
    expect(errorPlace(circle)).toContain('error-place.test.ts');
  });
});
