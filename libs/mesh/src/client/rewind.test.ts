import { LlmAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { expect, it } from 'vitest';
import { brief, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { readInvocation } from './follow-run.ts';
import { rewind } from './rewind.ts';
import { startRun } from './start-run.ts';

async function stage(options: { sweepMs?: number } = {}) {
  const world = memoryMesh();
  const solo = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('one'), says('two')) });
  await serveAgent(await world.connect('agent_solo'), solo, { app: 'app', ...options });
  const { client, ref } = await world.chat('app');
  const start = (message: string) =>
    startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message });
  const first = await start('hi');
  await Array.fromAsync(first.events);
  return { world, client, ref, start, first };
}

it('a run that came during a rewind begins at its end', async () => {
  const { client, ref, start, first } = await stage({ sweepMs: 3_600_000 });
  const rewound = Promise.withResolvers<void>();
  const sessions = overrideSessions(client.sessions, {
    appendEvent: async (request) => {
      await rewound.promise;
      return await client.sessions.appendEvent(request);
    },
  });
  const rewinding = rewind({ ...client, sessions }, ref, first.invocationId);
  const second = await start('again');
  const { invocationId } = second;
  await expect
    .poll(async () => (await readInvocation(client, { ...ref, invocationId })).status)
    .toBe('waiting');
  const events = Array.fromAsync(second.events);
  rewound.resolve();
  await rewinding;
  expect((await events).map(brief)).toEqual(['solo: two']);
});

it('a rewind whose process is gone does not keep its session', async () => {
  const { world, ref } = await stage({ sweepMs: 20 });
  const { leases } = world.sessions;
  const gone = { ...ref, invocationId: 'e-gone' };
  await leases.take(gone, { run: '', whenBusy: 'reject', leaseMs: 20 });
  await expect
    .poll(() => leases.take({ ...ref, invocationId: 'e-new' }, { run: '', whenBusy: 'reject' }))
    .toMatchObject({ state: 'held' });
  expect((await world.sessions.invocations.get(gone)).status).toBe('failed');
  expect(world.lines.filter((line) => line.includes('ended work whose process is gone'))).toHaveLength(1);
});
