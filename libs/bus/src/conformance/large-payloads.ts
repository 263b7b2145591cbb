import { type ClaimKind, header, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import type { Bus } from '../bus/bus.ts';
import { gather, resultOf, textOf } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();
const someSession = { appName: 'app', userId: 'user', sessionId: 's' };
const mebibyte = 2 ** 20;
/** The key of no payload. */
const key = 'k'.repeat(43);
/** Makes a large text of one letter. */
const large = (letter: string, size = 5 * mebibyte) => letter.repeat(size);

const kept = (bus: Bus, kind: ClaimKind) => bus.objects(names.claimBucket(kind)).ids();
/** Decrypts an object as a program without agentmesh does. */
async function decrypted(stored: Uint8Array<ArrayBuffer>, sealKey: string): Promise<string> {
  const raw = Buffer.from(sealKey, 'base64url');
  const aes = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt']);
  const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, aes, stored);
  return Buffer.from(plain).toString();
}

/**
 * Waits until the bucket holds no objects but the earlier objects; other tests leave objects that nobody
 * takes.
 */
async function isGone(bus: Bus, kind: ClaimKind, before: string[]): Promise<void> {
  await until(async () => (await kept(bus, kind)).every((id) => before.includes(id)));
}

/** Declares the tests of payloads over the broker's limit, for each kind of message. */
export function describeLargePayloads(scene: Scene): void {
  const { connect, name } = scene;

  describe('payloads over the limit of the broker', () => {
    it('cross a request and its answer, mixed with small ones, and leave nothing in the bucket', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const before = await kept(caller, 'news');
      const subject = names.toolCall(name('t'));
      await callee.serve(subject, async function* (request) {
        yield { type: 'progress', data: 'small' };
        yield { type: 'progress', data: large('a') };
        yield { type: 'progress', data: 'small' };
        yield { type: 'progress', data: large('b', mebibyte) };
        yield { type: 'result', data: request.json() };
      });
      const frames = await gather(caller.request(subject, large('c')));
      const data = frames.flatMap((frame) =>
        'data' in frame && frame.type !== 'accepted' ? [frame.data] : [],
      );
      expect(data.map((each) => [String(each)[0], String(each).length])).toEqual([
        ['s', 5],
        ['a', 5 * mebibyte],
        ['s', 5],
        ['b', mebibyte],
        ['c', 5 * mebibyte],
      ]);
      await isGone(caller, 'news', before);
    });

    it.each([-200, -100, -60, -40, -20, -2, 0, 100])(
      'cross at %d bytes from the limit, too',
      async (more) => {
        const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
        const subject = names.toolCall(name('t'));
        await callee.serve(subject, async function* (request) {
          yield { type: 'result', data: request.json() };
        });
        const text = large('x', mebibyte + more);
        expect(await resultOf(caller.request(subject, text))).toBe(text);
      },
    );

    it('arrive when many are on their way at once', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.toolCall(name('t'));
      await callee.serve(subject, async function* (request) {
        yield { type: 'result', data: request.json() };
      });
      const before = await kept(caller, 'news');
      const texts = ['a', 'bb', 'c', 'dd', 'e'].map((word) =>
        word.length > 1 ? word : large(word, 2 * mebibyte),
      );
      const results = texts.map((text) => resultOf(caller.request(subject, text)));
      expect((await Promise.all(results)).every((text, n) => text === texts[n])).toBe(true);
      await isGone(caller, 'news', before);
    });

    it('reach all subscribers in the order in which they were published', async () => {
      const [speaker, ...listeners] = await Promise.all(
        ['speaker', 'one', 'two'].map((each) => connect(each)),
      );
      const subject = names.sessionNews(someSession, name('i'), 's');
      const heard: string[][] = [[], []];
      for (const [n, listener] of listeners.entries())
        await listener.subscribe(subject, (message) => void heard[n]?.push(String(message.json())));
      const said = ['1', large('2'), '3', large('4', 2 * mebibyte), '5'];
      // Not one after the other: the bus keeps the order.
      await Promise.all(said.map((text) => speaker?.publish(subject, text)));
      await until(() => heard.every(({ length }) => length === said.length));
      for (const each of heard) expect(each.every((text, n) => text === said[n])).toBe(true);
    });

    it('are a gap for a subscriber that skips them', async () => {
      const [speaker, listener] = await Promise.all(['speaker', 'listener'].map((each) => connect(each)));
      const subject = names.sessionNews(someSession, name('i'), 's');
      const heard: unknown[] = [];
      const onGap = (of?: string) => void heard.push({ gap: of });
      await listener?.subscribe(subject, (message) => void heard.push(message.json()), {
        ...{ skipsLarge: true, onGap },
      });
      await speaker?.publish(subject, large('1'));
      await until(() => heard.length === 1);
      await speaker?.publish(subject, 'small');
      await until(() => heard.length === 2);
      expect(heard).toEqual([{ gap: subject }, 'small']);
    });

    it('stay for redeliveries of their work item, and are deleted when it is done', async () => {
      const agent = name('agent');
      await scene.provision([agent]);
      const bus = await connect('worker');
      const before = await kept(bus, 'work');
      const text = large('w');
      await bus.enqueue(names.agentRun(agent, 's'), text, { messageId: `${agent}.1` });
      const again = await bus.enqueue(names.agentRun(agent, 's'), text, { messageId: `${agent}.1` });
      expect(again).toEqual({ duplicate: true });
      await until(async () => (await kept(bus, 'work')).length === before.length + 1);
      const seen: string[] = [];
      const started = await bus.consumeRuns(
        agent,
        async (item) => {
          seen.push(String(item.json()));
          return seen.length === 1 ? { done: false, delayMs: 0 } : { done: true };
        },
        { maxConcurrency: 1 },
      );
      await until(() => seen.length === 2);
      expect(seen.every((each) => each === text)).toBe(true);
      await isGone(bus, 'work', before);
      await started.stop();
    });

    it('are deleted before a bus closes that has done their work', async () => {
      const agent = name('agent');
      await scene.provision([agent]);
      const [bus, worker] = await Promise.all([connect('client'), connect('worker')]);
      const before = await kept(bus, 'work');
      const all = Promise.withResolvers<{ done: true }>();
      let begun = 0;
      const work = async () => {
        begun += 1;
        return await all.promise;
      };
      await worker.consumeRuns(agent, work, { maxConcurrency: 8 });
      for (let n = 0; n < 8; n += 1)
        await bus.enqueue(names.agentRun(agent, 's'), large('w', 2 * mebibyte), {
          messageId: `${agent}.${n}`,
        });
      await until(() => begun === 8);
      all.resolve({ done: true });
      await worker[Symbol.asyncDispose]();
      expect((await kept(bus, 'work')).toSorted()).toEqual(before.toSorted());
    });

    it('are reported to the handler of a work item when they are lost, so that it can give the item up', async () => {
      const agent = name('agent');
      await scene.provision([agent]);
      const bus = await connect('worker');
      await bus.enqueue(names.agentRun(agent, 's'), large('w'), { messageId: `${agent}.1` });
      for (const id of await kept(bus, 'work')) await bus.objects(names.claimBucket('work')).delete(id);
      const failures: unknown[] = [];
      const started = await bus.consumeRuns(
        agent,
        async (item) => {
          try {
            item.json();
          } catch (error) {
            failures.push(error);
          }
          return { done: true };
        },
        { maxConcurrency: 1 },
      );
      await until(() => failures.length === 1, { timeoutMs: 20_000 });
      expect(failures[0]).toMatchObject({
        code: 'failed_precondition',
        message: expect.stringContaining('not there'),
      });
      await started.stop();
    }, 30_000);

    it('are announced to clients in other languages by a header', async () => {
      const callee = await connect('callee');
      const link = await scene.openLink();
      const subject = names.toolCall(name('t'));
      await callee.serve(subject, async function* () {
        yield { type: 'result', data: large('p') };
      });
      const replies: Parameters<Parameters<typeof link.listen>[1]>[0][] = [];
      await link.listen(`${link.inbox}.p`, (packet) => void replies.push(packet));
      link.send({ subject, headers: {}, bytes: new TextEncoder().encode('{}'), reply: `${link.inbox}.p` });
      await until(() => replies.length === 1);
      expect(textOf(replies[0])).toBe('');
      const [kind, id = '', size, sealKey = ''] = replies[0]?.headers[header.claim]?.split('.') ?? [];
      expect([kind, size]).toEqual(['news', String(5 * mebibyte + 2)]);
      const object = await link.objects(names.claimBucket('news')).open(id);
      const stored = Buffer.concat(await Array.fromAsync(object?.bytes ?? []));
      // Reading the bucket without the message tells nothing.
      expect(stored.includes('pppp')).toBe(false);
      expect(JSON.parse(await decrypted(stored, sealKey))).toBe(large('p'));
      await link.objects(names.claimBucket('news')).delete(id);
    });

    it('are held for a few requests at once, and the other requests wait', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.toolCall(name('t'));
      let held = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      await callee.serve(subject, async function* (request) {
        held += 1;
        most = Math.max(most, held);
        if (held === 4) full.resolve();
        await full.promise;
        // After these turns, every request that could start has started.
        for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        held -= 1;
        yield { type: 'result', data: String(request.json()).length };
      });
      const text = large('x', 15 * mebibyte);
      const results = Array.from({ length: 7 }, () => resultOf(caller.request(subject, text)));
      expect(await Promise.all(results)).toEqual(Array.from({ length: 7 }, () => text.length));
      expect(most).toBe(4);
    }, 30_000);

    it.each(['Mesh-Claim', 'mesh-claim'])(
      'are named only by the bus, which drops the header %s of a sender',
      async (claim) => {
        const agent = name('agent');
        await scene.provision([agent]);
        const [bus, callee] = await Promise.all([connect('caller'), connect('callee')]);
        const headers = { [claim]: 'garbage' };
        const subject = names.toolCall(name('t'));
        await callee.serve(subject, async function* (request) {
          yield { type: 'result', data: request.json() };
        });
        expect(await resultOf(bus.request(subject, 'asked', { headers }))).toBe('asked');
        const heard: unknown[] = [];
        const news = names.sessionNews(someSession, name('i'), 's');
        await callee.subscribe(news, (message) => void heard.push(message.json()));
        await bus.publish(news, 'told', { headers });
        await bus.enqueue(names.agentRun(agent, 's'), 'given', { headers, messageId: `${agent}.1` });
        const work = await callee.consumeRuns(
          agent,
          async (item) => {
            heard.push(item.json());
            return { done: true };
          },
          { maxConcurrency: 1 },
        );
        await until(() => heard.length === 2);
        expect(heard.toSorted()).toEqual(['given', 'told']);
        await work.stop();
      },
    );

    it.each([
      'x',
      'news.a.1',
      `news..1.${key}`,
      `other.a.1.${key}`,
      'news.a.1.b',
      `news.no-such.5.${key}`,
      `news.a.999999999.${key}`,
    ])('named by the claim %j, which is none, are refused', async (claim) => {
      const callee = await connect('callee');
      const link = await scene.openLink();
      const subject = names.toolCall(name('t'));
      await callee.serve(subject, async function* () {
        yield { type: 'result', data: 'ok' };
      });
      const replies: Parameters<Parameters<typeof link.listen>[1]>[0][] = [];
      await link.listen(`${link.inbox}.p`, (packet) => void replies.push(packet));
      const headers = { [header.claim]: claim };
      link.send({ subject, headers, bytes: new Uint8Array(), reply: `${link.inbox}.p` });
      await until(() => replies.length === 1);
      expect(replies[0]?.headers[header.error]).toMatch(/names no payload|not there any more|over the limit/);
    });
  });
}
