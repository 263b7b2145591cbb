import type { SessionRef } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { until } from '@agentmesh/testing';
import { app } from './agents.ts';
import { type Message, now, type Violation } from './check/history.ts';
import { check } from './check/rules.ts';
import { emptyView } from './clients/follow.ts';
import { makeMilestones } from './clients/milestones.ts';
import { openNatsDoor } from './clients/nats-door.ts';
import { newPlace, type World } from './clients/place.ts';
import { doorOf, sendRun } from './clients/say.ts';
import { type Field, startField } from './field.ts';
import { chaosModel, type OpKind, wordsOf } from './model.ts';
import { readHistory } from './read-history.ts';
import type { Sabotage } from './sabotage.ts';
import { type Attempt, emptyTraffic } from './traffic.ts';

/** A small mesh for one fault at a time: two replicas of the front agent and of the tool, and one gateway. */
export interface Stage extends AsyncDisposable {
  readonly field: Field;
  /** The output of the replicas. */
  readonly lines: string[];
  /** Sends a message. `end` resolves when the client gets the end. */
  send(kind: OpKind): { attempt: Attempt; end: Promise<void> };
  /** Holds back the model's next answer to a request with function responses, until `release` is called. */
  holdNextAnswer(): { held: Promise<void>; release(): void };
  /** Returns the process id of the replica that wrote an agent's first event in the attempt's log. */
  writerOf(attempt: Attempt): Promise<number>;
  /** Returns the violations that the checker finds. */
  verdict(settleMs?: number): Promise<Violation[]>;
}

export async function openStage(sabotage?: Sabotage): Promise<Stage> {
  await using owners = new AsyncDisposableStack();
  const lines: string[] = [];
  const gate = makeGate();
  const answer = chaosModel(1, 0);
  const field = owners.use(
    await startField({
      parts: ['front_agent', 'add_remote'],
      gateways: 1,
      ackWaitMs: 1_000,
      async model(request) {
        const isAnswered = request.contents.at(-1)?.parts?.some((part) => part.functionResponse) ?? false;
        if (isAnswered) await gate.pass();
        return await answer(request);
      },
      onLine: (_replica, line) => lines.push(line),
      ...(sabotage && { sabotage }),
    }),
  );
  const store = owners.use(await connectRedisStore({ url: field.redis.url }));
  const gone = new AbortController();
  const nats = owners.use(await openNatsDoor(field.natsUrl, field.login('client')));
  const traffic = emptyTraffic();
  const world: World = {
    ...{ app, traffic, nats, gateways: field.gatewayUrls, patienceMs: 60_000, signal: gone.signal },
  };
  const send: Stage['send'] = (kind) => {
    const id = String(traffic.operations.length);
    const session: SessionRef = { appName: app, userId: 'u', sessionId: `s${id}` };
    const attempt: Attempt = { ...session, view: emptyView() };
    traffic.sessions.set(session.sessionId, session);
    traffic.operations.push({ id, kind, attempts: [attempt], done: true, ms: 0 });
    const message: Message = {
      ...{ id, session, via: 'http', kind: 'message', op: kind, whenBusy: 'enqueue', sentAt: now() },
      text: wordsOf(kind, id),
    };
    traffic.messages.push(message);
    const run = async () => {
      using door = doorOf(world, id);
      const trial = { world, place: newPlace('u'), door, message, attempt, milestones: makeMilestones() };
      await store.sessions.createSession(session);
      await sendRun(trial, { parts: [{ text: message.text }] }, 'steady');
    };
    return { attempt, end: run() };
  };
  const writerOf: Stage['writerOf'] = (attempt) =>
    until(async () => {
      const [, written] = await store.sessions.log.readEvents(attempt);
      return Number(String(written?.event.customMetadata?.['mesh:replica']).split('-')[1]) || undefined;
    });
  const all = owners.move();
  return {
    ...{ field, lines, send, writerOf },
    holdNextAnswer: gate.hold,
    verdict: async (settleMs) => {
      const { messages, acts } = traffic;
      const { lives, faults } = field.log;
      const observations = { messages, acts, news: nats.news, lives, faults };
      return check(await readHistory(field, observations, { settleMs, leastShare: 0 }));
    },
    async [Symbol.asyncDispose]() {
      gone.abort();
      gate.open();
      await all.disposeAsync();
    },
  };
}

/** Makes a gate that holds back one caller. */
function makeGate() {
  let next: { held: PromiseWithResolvers<void>; release: PromiseWithResolvers<void> } | undefined;
  const closed = new Set<PromiseWithResolvers<void>>();
  return {
    hold() {
      const held = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      next = { held, release };
      closed.add(release);
      return { held: held.promise, release: release.resolve };
    },
    async pass() {
      const mine = next;
      next = undefined;
      mine?.held.resolve();
      await mine?.release.promise;
    },
    open() {
      for (const each of closed) each.resolve();
    },
  };
}
