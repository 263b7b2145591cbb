import { busName } from '@agentmesh/mesh';
import { casesOfTier } from '@agentmesh/testing/tiers';
import type { NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import {
  type Contents,
  type Form,
  names,
  readContents,
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

/** An attacker: a user with its connection and its place among the services. */
interface Attacker {
  connection: NatsConnection;
  user: string;
  kind: 'agent' | 'tool';
  name: string;
  /** The stream and the consumer of its own queue. */
  consumer: string;
  /** The subject that acknowledges a message of its own queue. */
  ack: string;
}

async function attackerOf({ login, operator }: Stage, user: string): Promise<Attacker> {
  const name = ownName(user);
  const { messages } = await readContents(operator);
  const item = messages.get(user.startsWith('tool_') ? names.toolJob(name) : names.agentRun(name, 'victim'));
  return {
    ...{ connection: await login(user), user, name, kind: user.startsWith('tool_') ? 'tool' : 'agent' },
    consumer: `${queueOf(user)}.${names.workConsumer(name)}`,
    ack: ackOf(user, item?.lastSeq ?? 1_000_000),
  };
}

/** The ways to have a message sent to a subject to which the sender has no right. */
const ways: Record<string, (attacker: Attacker, target: string) => void> = {
  'by a message of its own'({ connection }, target) {
    connection.publish(target, evil);
    connection.publish(target, '');
  },
  'by the answer to an acknowledgement, which is empty and comes from the server'(
    { connection, ack },
    target,
  ) {
    for (const word of ['+ACK', '+WPI', '-NAK', '+TERM']) connection.publish(ack, word, { reply: target });
  },
  'by a right to answer that it gives itself'(attacker, target) {
    attacker.connection.publish(ownQuestion(attacker), evil, { reply: target });
  },
  'by a message of its own choice that it pulls or reads'(attacker, target) {
    const { connection, consumer, kind, name, user, ack } = attacker;
    const say = (subject: string, text: string) => connection.publish(subject, text, { reply: target });
    connection.publish(names.agentRun(name, 'own'), evil);
    if (kind === 'tool') connection.publish(names.toolJob(name), evil);
    say(`$JS.API.CONSUMER.MSG.NEXT.${consumer}`, '{"batch":1,"no_wait":true}');
    say(ack, '+NXT {"batch":1,"no_wait":true}');
    for (const stream of [queueOf(user), `KV_${names.cardBucket}`, `OBJ_${names.claimBucket('news')}`])
      say(`$JS.API.STREAM.MSG.GET.${stream}`, '{"seq":1}');
  },
  'by the acknowledgement of a publication, which names a number'({ connection, kind, name }, target) {
    const subjects = [
      names.agentRun(name, 'own'),
      `$KV.${names.cardBucket}.${names.cardKey(kind, name)}`,
      `$KV.${names.artifactBucket}.own`,
      `$O.${names.claimBucket('news')}.C.own`,
      ...(kind === 'tool' ? [names.toolJob(name)] : []),
    ];
    for (const subject of subjects) connection.publish(subject, evil, { reply: target });
  },
};

/** Returns a subject on which the user may ask itself, so that it gets the right to answer. */
function ownQuestion({ kind, name }: Attacker): string {
  const ping = `$SRV.PING.${names.shownAs(name)}`;
  return kind === 'tool' ? `${ping}.own` : ping;
}

/** Answers the attacker's own questions with its own bytes. */
function answerItself(attacker: Attacker): void {
  const { connection } = attacker;
  connection.subscribe(ownQuestion(attacker), {
    callback(error, message) {
      if (!error && message.reply) connection.publish(message.reply, evil);
    },
  });
}

/** Tells whether a subject is the subject of work items of a user. */
function isItemOf(user: string, subject: string): boolean {
  const name = ownName(user);
  const items = [names.agentRun(name, 'own'), names.agentRun(name, 'victim'), names.toolJob(name)];
  return items.includes(subject);
}

const isOf = (name: string, subject: string) => subject.split('.').includes(name);

const forms = casesOfTier<Form>(['JWT', 'file']);

describe.each(forms)('behind the borders of the accounts in the %s form', (form) => {
  it('a user hears nothing by ">" but the news and requests that are meant for it', async () => {
    await using stage = await startStage(form);
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

  it.each(Object.entries(ways))('no user reaches others or changes anything %s', async (_name, attack) => {
    await using stage = await startStage(form);
    const sentinels = await postSentinels(stage);
    for (const user of users) {
      const before = await readContents(stage.operator);
      const attacker = await attackerOf(stage, user);
      answerItself(attacker);
      const targets = targetsOf(user);
      expect(targets.length).toBeGreaterThan(200);
      for (const each of sentinels) each.heard.length = 0;
      for (const target of targets) attack(attacker, target);
      // The attacker has sent its own answers when it hears itself again.
      await attacker.connection.flush();
      await attacker.connection.flush();
      await settle(stage, sentinels);
      const others = sentinels.filter((each) => each.user !== user);
      for (const { user: victim, heard } of others) {
        // A pull of an earlier attacker may still bring it an item of its own queue.
        const unexpected = heard.filter(
          (subject) => !isIn(names.allCardNews, subject) && !isItemOf(victim, subject),
        );
        expect(unexpected, `${victim} hears ${user}`).toEqual([]);
      }
      expectSame(before, await readContents(stage.operator), user);
    }
  });
});

/** Expects that a user has changed nothing in JetStream beyond its rights and its own queue. */
function expectSame(before: Contents, after: Contents, user: string): void {
  expect(after.parts, user).toEqual(before.parts);
  const { publish } = rightsOf(user);
  const isItsOwn = (subject: string) =>
    isOf(ownName(user), subject) || publish.some((pattern) => isIn(pattern, subject));
  const ofOthers = ({ messages }: Contents) =>
    Object.fromEntries([...messages].filter(([subject]) => !isItsOwn(subject)));
  expect(ofOthers(after), user).toEqual(ofOthers(before));
}

describe.each(forms)('a made-up acknowledgement, with accounts in the %s form', (form) => {
  it('of a message in another queue is ignored since nats-server 2.15; older ones remove the message', async () => {
    await using stage = await startStage(form);
    const victim = names.agentRun('stock_agent', 'victim');
    const seq = (await readContents(stage.operator)).messages.get(victim)?.lastSeq ?? 0;
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
    const after = await readContents(stage.operator);
    const [major = 0, minor = 0] = stage.operator.info?.version.split('.').map(Number) ?? [];
    const isIgnored = major > 2 || minor >= 15;
    expect(after.messages.has(victim)).toBe(isIgnored);
  });
});

describe.each(forms)('with the lists of permitted subjects in the %s form', (form) => {
  it('the server names each subject that it refuses', async () => {
    await using stage = await startStage(form, { withLists: true });
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
