import { connectNats } from '@agentmesh/bus';
import { MeshArtifactService } from '@agentmesh/mesh';
import { header } from '@agentmesh/protocol';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { type Form, names, startStage, users } from './stage.fixture.ts';

const { artifactBucket, claimBucket } = names;
/** The services that use the buckets of files themselves. Others ask a keeper. */
const withFiles = ['gateway', 'keeper'];
const file = { appName: 'stock_app', userId: 'ann', sessionId: 's', filename: 'private.txt' };
const secret = 'the secret of ann';

/** The ways to reach files of others: requests that JetStream answers with an error when they are pointless. */
const attacks: Record<string, [subject: string, body: object]> = {
  'list the records': [`$JS.API.STREAM.INFO.KV_${artifactBucket}`, { subjects_filter: '>' }],
  'read a record': [`$JS.API.STREAM.MSG.GET.KV_${artifactBucket}`, { seq: 1 }],
  'empty the records': [`$JS.API.STREAM.PURGE.KV_${artifactBucket}`, { filter: 'none' }],
  'write a record': [`$KV.${artifactBucket}.own`, {}],
  'list the bytes': [`$JS.API.STREAM.INFO.OBJ_${artifactBucket}`, { subjects_filter: '>' }],
  'read the bytes': [`$JS.API.STREAM.MSG.GET.OBJ_${artifactBucket}`, { seq: 1 }],
  'empty the bytes': [`$JS.API.STREAM.PURGE.OBJ_${artifactBucket}`, { filter: 'none' }],
  'write bytes': [`$O.${artifactBucket}.C.own`, {}],
};

/** Tells whether JetStream carries out a request of a user. */
async function succeeds(
  connection: NatsConnection,
  [subject, body]: [subject: string, body: object],
): Promise<boolean> {
  try {
    const answer = await connection.request(subject, JSON.stringify(body), { timeout: 1_500 });
    return !('error' in answer.json<object>());
  } catch {
    return false;
  }
}

const forms = casesOfTier<Form>(['JWT', 'file']);

describe.each(forms)('with accounts in the %s form', (form) => {
  it('only the gateway and keepers reach the buckets of files', async () => {
    await using stage = await startStage(form);
    await using bus = await connectNats({ ...stage.address('gateway'), service: 'gateway', cards: false });
    const artifacts = new MeshArtifactService(bus, artifactBucket);
    await artifacts.saveArtifact({ ...file, artifact: { text: secret } });
    for (const user of users) {
      const connection = await stage.login(user);
      const reached = await Promise.all(
        Object.entries(attacks).map(async ([what, attack]) =>
          (await succeeds(connection, attack)) ? what : [],
        ),
      );
      expect(reached.flat(), user).toEqual(withFiles.includes(user) ? Object.keys(attacks) : []);
    }
    expect(await artifacts.loadArtifact(file)).toEqual({ text: secret });
  });

  it('nobody removes or replaces a large payload of others, and its receiver reads it', async () => {
    await using stage = await startStage(form);
    await using bus = await connectNats({ ...stage.address('client'), service: 'client', cards: false });
    const payload = secret.repeat(100_000);
    await bus.enqueue(names.agentRun('stock_agent', 's'), { message: payload }, { messageId: 'large' });
    const bucket = claimBucket('work');
    const stream = `OBJ_${bucket}`;
    const claims = async () => {
      const info = await stage.operator.request(`$JS.API.STREAM.INFO.${stream}`, '{"subjects_filter":">"}');
      return info.json<{ state: { subjects: Record<string, number> } }>().state.subjects;
    };
    const before = await claims();
    const info = Object.keys(before).find((subject) => subject.startsWith(`$O.${bucket}.M.`)) ?? '';
    const chunks = Object.keys(before).find((subject) => subject.startsWith(`$O.${bucket}.C.`)) ?? '';
    const deleted = JSON.stringify({ name: 'x', nuid: 'x', size: 0, chunks: 0, digest: '', deleted: true });
    for (const user of users) {
      const connection = await stage.login(user);
      for (const filter of [info, chunks, `$O.${bucket}.>`])
        expect(await succeeds(connection, [`$JS.API.STREAM.PURGE.${stream}`, { filter }]), user).toBe(false);
      expect(await succeeds(connection, [`$JS.API.STREAM.MSG.DELETE.${stream}`, { seq: 1 }]), user).toBe(
        false,
      );
      for (const scope of ['sub', 'all'])
        for (const subject of [info, chunks]) {
          const rollup = headers();
          rollup.set('Nats-Rollup', scope);
          const answer = await connection.request(subject, deleted, { headers: rollup, timeout: 1_500 });
          expect(answer.json(), user).toHaveProperty('error');
        }
      // A service may write there, and this changes nothing for others.
      for (const subject of [info, chunks])
        expect(await succeeds(connection, [subject, {}]), user).toBe(true);
      await connection.request(info, deleted);
    }
    const after = await claims();
    for (const subject of [info, chunks]) expect(after[subject]).toBeGreaterThan(before[subject] ?? 0);
    await using agent = await connectNats({
      ...stage.address('agent_stock_agent'),
      ...{ service: 'agent_stock_agent', cards: false },
    });
    const received = Promise.withResolvers<unknown>();
    const work = await agent.consumeRuns(
      'stock_agent',
      async (item) => {
        if (item.subject === names.agentRun('stock_agent', 's')) received.resolve(item.json());
        return { done: true };
      },
      { maxConcurrency: 1 },
    );
    expect(await received.promise).toEqual({ message: payload });
    await work.stop();
  });

  it('nobody reads or lists a large payload of others', async () => {
    await using stage = await startStage(form);
    await using bus = await connectNats({ ...stage.address('client'), service: 'client', cards: false });
    const payload = secret.repeat(100_000);
    await bus.enqueue(names.agentRun('stock_agent', 's'), { message: payload }, { messageId: 'large' });
    const bucket = `OBJ_${claimBucket('work')}`;
    for (const user of users) {
      const connection = await stage.login(user);
      expect(await succeeds(connection, [`$JS.API.STREAM.INFO.${bucket}`, {}]), user).toBe(false);
      const read = await connection.request(`$JS.API.STREAM.MSG.GET.${bucket}`, '{"seq":1}');
      const { message } = read.json<{ message: { data: string } }>();
      const bytes = Buffer.from(message.data, 'base64');
      expect(bytes.length, user).toBeGreaterThan(10_000);
      expect(bytes.includes('secret'), user).toBe(false);
    }
    // The message of the receiver has the key.
    const run = await stage.operator.request(
      `$JS.API.STREAM.MSG.GET.${names.workStream('run')}`,
      JSON.stringify({ last_by_subj: names.agentRun('stock_agent', 's') }),
    );
    const { hdrs } = run.json<{ message: { hdrs: string } }>().message;
    expect(Buffer.from(hdrs, 'base64').toString()).toMatch(
      new RegExp(`${header.claim}: work\\.[\\w-]+\\.\\d+\\.[\\w-]{43}\r`),
    );
  });
});
