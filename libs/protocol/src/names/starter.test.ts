import { describe, expect, it } from 'vitest';
import { invocationIdOf, newStarter, starterOf } from './starter.ts';

describe('the starter of an invocation', () => {
  it('is in the id', () => {
    const starter = newStarter();
    expect(starterOf(invocationIdOf(starter))).toBe(starter);
  });

  it.each([
    '',
    'e-1',
    'e-4f1c0f5e-3f0e-4a57-9d3a-1f6f1f0c2b11',
    'e-s1a2b3c4-x',
    'e-s1a2b3c4d',
    'e-S1A2B3C4D-x',
    'x-s1a2b3c4d-x',
  ])('is none for %j', (id) => {
    expect(starterOf(id)).toBe('none');
  });
});
