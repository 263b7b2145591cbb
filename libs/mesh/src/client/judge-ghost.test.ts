import { LlmAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { expect, it } from 'vitest';
import { memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { judgeGhost } from './judge-ghost.ts';
import { startRun } from './start-run.ts';

const hour = 3_600_000;
const ghost = { kind: 'run' as const, seq: 1, ageMs: 1_000, bytes: new Uint8Array() };

/** Makes an agent that has ended one run, and a mesh in whose stream of runs a command is left. */
async function stage() {
  const world = memoryMesh();
  const solo = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('hello')) });
  await serveAgent(await world.connect('agent_solo'), solo, { app: 'app' });
  const { client, ref } = await world.chat('app');
  const run = { app: 'app', user: 'u', session: ref.sessionId, message: 'hi' };
  const { invocationId, events } = await startRun(client, run);
  await Array.fromAsync(events);
  const subject = client.subjects.agentRun('solo', ref.sessionId);
  let stored: unknown;
  async function* earlierRuns() {
    const bytes = new TextEncoder().encode(JSON.stringify(stored));
    const parts = { subject, headers: {}, bytes, key: '1-1', place: 1 };
    yield { ...parts, json: () => stored, text: () => JSON.stringify(stored) };
  }
  const of = (command: unknown, options: Partial<typeof ghost> = {}, mesh: Mesh = client) => {
    stored = command;
    return judgeGhost({ ...mesh, bus: { ...mesh.bus, earlierRuns } }, { ...ghost, subject, ...options });
  };
  return { of, run, invocationId, client };
}

/** Forgets the records of all invocations. */
const withoutRecords = (mesh: Mesh): Mesh => ({
  ...mesh,
  sessions: Object.create(mesh.sessions, {
    invocations: {
      value: {
        get: (ref: Parameters<Mesh['sessions']['invocations']['get']>[0]) =>
          mesh.sessions.invocations.get({ ...ref, invocationId: `no-${ref.invocationId}` }),
      },
    },
  }),
});

it('a run that has ended is removed, at any age', async () => {
  const { of, run, invocationId } = await stage();
  expect(await of({ ...run, invocationId })).toBe('removed');
  expect(await of({ ...run, invocationId }, { ageMs: 30 * hour })).toBe('removed');
});

it('a run that never began is put into the queue again while its record would exist', async () => {
  const { of, run } = await stage();
  expect(await of({ ...run, invocationId: 'e-new' })).toBe('requeued');
  expect(await of({ ...run, invocationId: 'e-new' }, { ageMs: 2 * hour })).toBe('unclear');
});

it('a run that waits is put into the queue again, and removed when it has waited long', async () => {
  const { of, run, client } = await stage();
  const ref = { appName: run.app, userId: run.user, sessionId: run.session };
  await client.sessions.leases.take({ ...ref, invocationId: 'e-holder' }, { run: '', whenBusy: 'reject' });
  await client.sessions.leases.take(
    { ...ref, invocationId: 'e-waiting' },
    { run: '{}', whenBusy: 'enqueue' },
  );
  expect(await of({ ...run, invocationId: 'e-waiting' })).toBe('requeued');
  expect(await of({ ...run, invocationId: 'e-waiting' }, { ageMs: 2 * hour })).toBe('removed');
});

it('a run in the log without a record has ended only when its record must have expired', async () => {
  const { of, run, invocationId, client } = await stage();
  const forgetful = withoutRecords(client);
  expect(await of({ ...run, invocationId }, { ageMs: 2 * hour }, forgetful)).toBe('unclear');
  expect(await of({ ...run, invocationId }, { ageMs: 26 * hour }, forgetful)).toBe('removed');
});

it('what is no readable run is unclear', async () => {
  const { of } = await stage();
  expect(await of('rubbish')).toBe('unclear');
  expect(await of({}, { seq: 2 })).toBe('unclear');
});

it.each([
  ['waits', 'open', 'unclear'],
  ['has its answer', 'answered', 'removed'],
  ['is gone with its session', 'unknown', 'removed'],
] as const)('a job whose call %s is %s: %s', async (_, state, verdict) => {
  const { client, run } = await stage();
  const sessions = overrideSessions(client.sessions, { pending: { stateOf: async () => state } });
  const context = {
    ...{ app: run.app, user: run.user, session: run.session, invocationId: 'e-1' },
    ...{ agent: 'solo', state: {}, operationSubject: client.subjects.operation('solo', 'c-1', 'client') },
  };
  const job = { job: 'j', call: { callId: 'c-1', args: {}, context } };
  const judge = (payload: unknown) => {
    const bytes = new TextEncoder().encode(JSON.stringify(payload));
    return judgeGhost({ ...client, sessions }, { ...ghost, kind: 'job', subject: 'any', bytes });
  };
  expect(await judge(job)).toBe(verdict);
  expect(await judge({ ...job, call: { args: {} } })).toBe('unclear');
  expect(await judge('rubbish')).toBe('unclear');
});
