import { describe, expect, it } from 'vitest';
import { invocationIdOf, isStartedIn, newStarter, starterOf } from './starter.ts';

const session = { appName: 'a', userId: 'ann', sessionId: 's' };

describe('the starter of an invocation', () => {
  it('is in the id', () => {
    const starter = newStarter();
    expect(starterOf(invocationIdOf(starter, session))).toBe(starter);
  });

  it('stands in the id beside the session', () => {
    const id = invocationIdOf(newStarter(), session);
    expect(id).not.toBe(invocationIdOf(newStarter(), session));
    expect(isStartedIn(id, session)).toBe(true);
    for (const other of [{ appName: 'b' }, { userId: 'bob' }, { sessionId: 't' }])
      expect(isStartedIn(id, { ...session, ...other })).toBe(false);
    expect(isStartedIn(`e-${crypto.randomUUID()}`, session)).toBe(false);
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
