import { InMemorySessionService } from '@agentmesh/agent';
import { type Bus, connectNats, openObserver } from '@agentmesh/bus';
import {
  createCallers,
  createMesh,
  memoryCallerKeys,
  memoryCallResults,
  memoryJobs,
  replayDeadLetter,
} from '@agentmesh/mesh';
import { cardSchema, type DeadLetter } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { until } from '@agentmesh/testing';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { headers } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { type Form, names, readContents, type Stage, startStage, users } from './stage.fixture.ts';
import { rightsOf } from './targets.fixture.ts';

const forms = casesOfTier<Form>(['JWT', 'file']);
/** The beginnings of subjects that are stored nowhere, or in the buckets of files, which few services use. */
const notStored = ['$JS.', '$SRV.', '_', `$KV.${names.artifactBucket}.`, `$O.${names.artifactBucket}.`];
const flooder = 'agent_stock_agent';

/** Returns a stored subject for each right of a user to publish, also one with a message of somebody else. */
function storedSubjects(user: string, stored: readonly string[]): string[] {
  const patterns = rightsOf(user).publish.filter(
    (each) => !notStored.some((start) => each.startsWith(start)),
  );
  return patterns.flatMap((pattern) => {
    const like = new RegExp(
      `^${pattern.replace(/[.$]/g, '\\$&').replaceAll('*', '[^.]+').replace('>', '.+')}$`,
    );
    return stored.find((subject) => like.test(subject)) ?? pattern.replaceAll('*', 'own').replace('>', 'own');
  });
}

async function openBus(stage: Stage, service: string, owners: AsyncDisposableStack): Promise<Bus> {
  return owners.use(await connectNats({ ...stage.address(service), service }));
}

describe.each(forms)('with accounts in the %s form', (form) => {
  it('nobody removes messages of others by the headers of a message of its own', async () => {
    await using stage = await startStage(form);
    // One record of an agent, and one of each service that writes audit records.
    await stage.operator.request(`$KV.${names.cardBucket}.${names.provisionedKey('stock_agent')}`, 'record');
    for (const user of users) await stage.operator.request(names.audit(user), 'stored');
    const before = await readContents(stage.operator);
    let tried = 0;
    for (const user of users) {
      const connection = await stage.login(user);
      for (const subject of storedSubjects(user, [...before.messages.keys()]))
        for (const scope of ['all', 'sub']) {
          const rollup = headers();
          rollup.set('Nats-Rollup', scope);
          connection.publish(subject, '{}', { headers: rollup });
          tried += 1;
        }
      await connection.flush();
    }
    expect(tried).toBeGreaterThan(200);
    await stage.operator.request('$JS.API.INFO');
    expect(await readContents(stage.operator)).toEqual(before);
    const own = await stage.login('tool_get_weather');
    const rollup = headers();
    rollup.set('Nats-Rollup', 'all');
    const card = `$KV.${names.cardBucket}.${names.cardKey('tool', 'get_weather')}`;
    const answer = await own.request(card, '{}', { headers: rollup, timeout: 5_000 });
    expect(answer.json()).toMatchObject({ error: { description: expect.stringMatching(/rollup/) } });
    // Messages with a time to live, in servers that know this, go alone.
    const short = headers();
    short.set('Nats-TTL', '1s');
    await own.request(card, '{}', { headers: short, timeout: 5_000 });
    const { messages } = await readContents(stage.operator);
    expect(new Set(messages.keys())).toEqual(new Set(before.messages.keys()));
  }, 120_000);

  it('a service that floods the audit records or the dead letters removes its own alone', async () => {
    await using stage = await startStage(form);
    const dead = names.dead('agent', 'stock_agent');
    const victims = [names.audit('gateway'), names.dead('agent', 'customer_agent')];
    for (const subject of victims) await stage.operator.request(subject, 'stored');
    const before = await readContents(stage.operator);
    const connection = await stage.login(flooder);
    const floods: [subject: string, limit: number][] = [
      [names.audit(flooder), 200_000],
      [dead, 20_000],
    ];
    for (const [subject, limit] of floods) {
      for (let n = 1; n <= limit + 500; n += 1) {
        connection.publish(subject, '{}');
        if (n % 5_000 === 0) await connection.flush();
      }
      connection.publish(subject, 'last');
      await connection.flush();
      const isOver = async () => {
        const { messages } = await readContents(stage.operator);
        return (messages.get(subject)?.lastSeq ?? 0) > limit + 500 && messages.get(subject);
      };
      const kept = await until(isOver, { what: 'the end of the flood', timeoutMs: 60_000 });
      expect(kept.count, subject).toBe(limit);
    }
    const { messages } = await readContents(stage.operator);
    for (const subject of victims) expect(messages.get(subject)).toEqual(before.messages.get(subject));
  }, 180_000);

  it('a forged dead letter shows its writer, and starts no run', async () => {
    await using owners = new AsyncDisposableStack();
    const stage = owners.use(await startStage(form));
    const [bus, attacker, victim] = (await Promise.all(
      ['gateway', flooder, 'agent_reimbursement_agent'].map((each) => openBus(stage, each, owners)),
    )) as [Bus, Bus, Bus];
    const sessions = new InMemorySessionService();
    const destination = { write: () => {} };
    const log = createLogger({ service: 'test', replica: 'test', level: 'warn', destination });
    const callers = createCallers(memoryCallerKeys());
    const mesh = createMesh({
      ...{ bus, sessions, callers, log },
      ...{ callResults: memoryCallResults(), jobs: memoryJobs() },
    });
    const apps = [
      [attacker, 'stock'],
      [victim, 'reimbursement'],
    ] as const;
    for (const [from, name] of apps) {
      const card = { kind: 'agent', name: `${name}_agent`, app: `${name}_app`, version: '1' };
      await from.announce(cardSchema.parse(card));
      await until(() => bus.directory.get('agent', `${name}_agent`)?.version === '1');
      await sessions.createSession({ appName: `${name}_app`, userId: 'boss', sessionId: 'vic7' });
    }
    const bury = async (subject: string, payload: object) => {
      const letter: DeadLetter = {
        ...{ subject, headers: {}, attempts: 5, replica: 'agent_reimbursement_agent-1', time: 1 },
        payload: { invocationId: 'e-1', user: 'boss', session: 'vic7', message: 'pay', ...payload },
        error: { code: 'internal', message: 'it failed' },
      };
      const messageId = JSON.stringify([subject, payload]);
      await attacker.enqueue(names.dead('agent', 'stock_agent'), letter, { messageId });
      return (await deadLetters.list({ limit: 1_000 })).at(-1) ?? expect.fail();
    };
    const { deadLetters } = owners.use(
      await openObserver({ ...stage.address('gateway'), service: 'gateway' }),
    );
    const writer = { kind: 'agent', name: 'stock_agent' };
    const others = names.agentRun('reimbursement_agent', 'vic7');
    const own = names.agentRun('stock_agent', 'vic7');
    const foreign = await bury(others, { app: 'reimbursement_app' });
    expect(foreign).toMatchObject({ writer, isForeign: true });
    const refused = {
      code: 'permission_denied',
      message: expect.stringContaining('agent stock_agent wrote it'),
    };
    await expect(replayDeadLetter(mesh, foreign)).rejects.toMatchObject(refused);
    const otherApp = await bury(own, { app: 'reimbursement_app' });
    expect(otherApp).toMatchObject({ writer, isForeign: false });
    await expect(replayDeadLetter(mesh, otherApp)).rejects.toMatchObject(refused);
    const functionResponse = { id: 'c', name: 'adk_request_confirmation', response: { confirmed: true } };
    const answer = { role: 'user', parts: [{ functionResponse }] };
    const answering = await bury(own, { app: 'stock_app', message: answer });
    await expect(replayDeadLetter(mesh, answering)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('answers calls'),
    });
    const genuine = await bury(own, { app: 'stock_app' });
    expect(genuine).toMatchObject({ writer, isForeign: false });
    const watch = new AbortController();
    const run = await replayDeadLetter(mesh, genuine, { signal: watch.signal });
    run.end.catch(() => {});
    watch.abort();
    expect(run.agent).toBe('stock_agent');
  }, 60_000);
});
