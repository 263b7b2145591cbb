import { expect, it } from 'vitest';
import { InMemorySessionService } from './in-memory/session-service.ts';
import { overrideSessions } from './override-sessions.ts';

const ref = { appName: 'app', userId: 'u', sessionId: 's' };
const run = { ...ref, invocationId: 'e-1' };

it('replaces the given members alone, over several layers', async () => {
  const inner = new InMemorySessionService();
  const asked: string[] = [];
  const middle = overrideSessions(inner, {
    invocations: {
      async get(which) {
        asked.push('middle');
        return await inner.invocations.get(which);
      },
    },
  });
  const outer = overrideSessions(middle, {
    async createSession(request) {
      asked.push('outer');
      return await middle.createSession(request);
    },
  });
  await outer.createSession(ref);
  await outer.leases.take(run, { run: 'r', whenBusy: 'reject' });
  await outer.invocations.countLlmCall(run, 1);
  expect(await outer.invocations.get(run)).toMatchObject({ llmCalls: 1 });
  expect(await outer.getSession(ref)).toEqual(await inner.getSession(ref));
  expect(asked).toEqual(['outer', 'middle']);
});

it('calls the current methods of the service, and keeps members outside of the contract', async () => {
  class Counting extends InMemorySessionService {
    count = () => 1;
  }
  const inner = new Counting();
  const sessions = overrideSessions(inner, {});
  inner.deleteSession = () => Promise.reject(new Error('replaced'));
  await expect(sessions.deleteSession(ref)).rejects.toThrow('replaced');
  expect(sessions).toHaveProperty('count');
});
