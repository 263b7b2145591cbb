import { busName, natsAccounts } from '@agentmesh/mesh';
import type { NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import {
  accountsAlone,
  names,
  readStorage,
  type Stage,
  services,
  startStage,
  users,
} from './stage.fixture.ts';
import { isIn, legitimateSubjects, rightsOf, targetsOf } from './targets.fixture.ts';

const evil = '{"seq":1,"mark":"EVIL"}';

/** A listener of everything in an account. */
interface Sentinel {
  user: string;
  connection: NatsConnection;
  heard: string[];
}

async function postSentinels({ login }: Stage): Promise<Sentinel[]> {
  return await Promise.all(
    users.map(async (user) => {
      const connection = await login(user);
      const heard: string[] = [];
      connection.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
      await connection.flush();
      return { user, connection, heard };
    }),
  );
}

/** Waits until JetStream has done what was asked before, and the sentinels have heard of it. */
async function settle({ operator }: Stage, sentinels: readonly Sentinel[]): Promise<void> {
  await operator.request('$JS.API.STREAM.LIST');
  await operator.request('$JS.API.INFO');
  for (const { connection } of sentinels) await connection.flush();
}

const ownName = (user: string) => services.find((each) => busName(each) === user)?.name ?? user;
const queueOf = (user: string) =>
  user.startsWith('tool_') ? names.workStream('job') : names.workStream('run');

/** Returns the subject that acknowledges a message of a stream for the user's own queue. */
function ackOf(user: string, seq: number): string {
  return `$JS.ACK.${queueOf(user)}.${names.workConsumer(ownName(user))}.1.${seq}.1.1700000000000000000.0`;
}

/**
 * Has every server-made answer that a user can get sent to a subject, and sends to the subject itself.
 *
 * @param ownSeq the number of a message in the user's own queue
 */
function attack(connection: NatsConnection, user: string, ownSeq: number, target: string): void {
  const name = ownName(user);
  const kind = user.startsWith('tool_') ? 'tool' : 'agent';
  const consumer = `${queueOf(user)}.${names.workConsumer(name)}`;
  const say = (subject: string, text: string) => connection.publish(subject, text, { reply: target });
  connection.publish(target, evil);
  connection.publish(target, '');
  // The empty answer to an acknowledgement.
  const ack = ackOf(user, ownSeq);
  for (const word of ['+ACK', '+WPI', '-NAK', '+TERM']) say(ack, word);
  // A message of one's own choice, delivered from the queue.
  say(names.agentRun(name, 'own'), evil);
  if (kind === 'tool') say(names.toolJob(name), evil);
  say(`$JS.API.CONSUMER.MSG.NEXT.${consumer}`, '{"batch":1,"no_wait":true}');
  say(ack, '+NXT {"batch":1,"no_wait":true}');
  // The acknowledgement of a publication, which names a number.
  say(`$KV.${names.cardBucket}.${names.cardKey(kind, name)}`, evil);
  say(`$KV.${names.artifactBucket}.own`, evil);
  say(`$O.${names.claimBucket('news')}.C.own`, evil);
  // A message that is read.
  for (const stream of [queueOf(user), `KV_${names.cardBucket}`, `OBJ_${names.claimBucket('news')}`])
    say(`$JS.API.STREAM.MSG.GET.${stream}`, '{"seq":1}');
  // A right to answer that one gives oneself.
  say('granted', evil);
}

describe('behind the borders of the accounts', () => {
  it('a user hears nothing by ">" but the news and requests that are meant for it', async () => {
    await using stage = await startStage(accountsAlone);
    const sentinels = await postSentinels(stage);
    for (const { user, connection } of sentinels)
      for (const subject of legitimateSubjects(user)) connection.publish(subject, user);
    for (const { connection } of sentinels) await connection.flush();
    await settle(stage, sentinels);
    let count = 0;
    for (const { user, heard } of sentinels) {
      const own = legitimateSubjects(user);
      const { hear } = rightsOf(user);
      const others = heard.filter((subject) => !own.includes(subject));
      count += others.length;
      expect(
        others.filter((subject) => !hear.some((pattern) => isIn(pattern, subject))),
        user,
      ).toEqual([]);
    }
    // The news and requests do arrive.
    expect(count).toBeGreaterThan(50);
  });

  it.each(users)('%s reaches no one and changes nothing outside of its rights', async (user) => {
    await using stage = await startStage(accountsAlone);
    const sentinels = (await postSentinels(stage)).filter((each) => each.user !== user);
    const before = await readStorage(stage.operator);
    const own = ownName(user);
    const isOwn = (subject: string) => subject.split('.').includes(own);
    const ownItem = before.messages.find(({ stream, subject }) => stream === queueOf(user) && isOwn(subject));
    const attacker = await stage.login(user);
    const granted: string[] = [];
    attacker.subscribe('granted', {
      callback(_error, { reply = '' }) {
        granted.push(reply);
        attacker.publish(reply, evil);
      },
    });
    const targets = targetsOf(user);
    expect(targets.length).toBeGreaterThan(200);
    for (const target of targets) attack(attacker, user, ownItem?.seq ?? 1_000_000, target);
    await attacker.flush();
    // The server drops a client's message whose reply is an acknowledgement.
    const answerable = targets.filter((target) => !target.startsWith('$JS.ACK.'));
    await expect.poll(() => granted.length).toBe(answerable.length);
    await attacker.flush();
    await settle(stage, sentinels);

    const cardNews = names.allCardNews;
    for (const { user: victim, heard } of sentinels)
      expect(
        heard.filter((subject) => !isIn(cardNews, subject)),
        `heard by ${victim}`,
      ).toEqual([]);
    const after = await readStorage(stage.operator);
    expect(after.parts).toEqual(before.parts);
    const kept = new Set(after.messages.map(({ stream, seq }) => `${stream} ${seq}`));
    const lost = before.messages.filter(
      ({ stream, seq, subject }) => !isOwn(subject) && !kept.has(`${stream} ${seq}`),
    );
    expect(lost).toEqual([]);
    const { publish } = rightsOf(user);
    const forged = after.messages.filter(
      ({ subject, text }) => text.includes('EVIL') && !publish.some((pattern) => isIn(pattern, subject)),
    );
    expect(forged).toEqual([]);
  });
});

describe('a made-up acknowledgement', () => {
  it('of a message in another queue is ignored since nats-server 2.15; older ones remove the message', async () => {
    await using stage = await startStage(accountsAlone);
    const { messages } = await readStorage(stage.operator);
    const victim = names.agentRun('stock_agent', 'victim');
    const seq = messages.find(({ subject }) => subject === victim)?.seq ?? 0;
    const user = 'agent_weather_agent';
    const attacker = await stage.login(user);
    // nats-server 2.10 ignores numbers that the consumer has not passed.
    const delivered = Promise.withResolvers<void>();
    attacker.subscribe('own', { callback: () => delivered.resolve() });
    const next = `$JS.API.CONSUMER.MSG.NEXT.${names.workStream('run')}.weather_agent`;
    attacker.publish(next, '{"batch":1}', { reply: 'own' });
    await delivered.promise;
    for (const word of ['+ACK', '+TERM']) attacker.publish(ackOf(user, seq), word);
    await attacker.flush();
    await settle(stage, []);
    const after = await readStorage(stage.operator);
    const [major = 0, minor = 0] = stage.operator.info?.version.split('.').map(Number) ?? [];
    const isIgnored = major > 2 || minor >= 15;
    expect(after.messages.some(({ subject }) => subject === victim)).toBe(isIgnored);
  });
});

describe('with the lists of permitted subjects', () => {
  it('the server names each subject that it refuses', async () => {
    await using stage = await startStage(natsAccounts({ services, password: (user) => user }));
    for (const user of users) {
      const connection = await stage.login(user);
      const refused: string[] = [];
      const target = targetsOf(user)[0] ?? '';
      await connection
        .request(target, evil, { timeout: 5_000 })
        .catch((error) => refused.push(String(error)));
      expect(refused, user).toEqual([expect.stringMatching(/permissions violation/i)]);
    }
  });
});
