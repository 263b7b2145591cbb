import { header, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import type { RequestHandler } from '../bus/bus.ts';
import { ask, echo, expectCode, gather, hanging, resultOf, textOf } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();

export function describeRequests({ connect, openLink, name }: Scene): void {
  describe('requests', () => {
    it('yields accepted, then 1,000 events in order, then the result', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, async function* (request) {
        const { count } = request.json() as { count: number };
        for (let n = 0; n < count; n += 1) yield { type: 'event', data: { n } };
        yield { type: 'progress', data: 'nearly' };
        yield { type: 'result', data: { count } };
      });
      const frames = await gather(caller.request(subject, { count: 1_000 }));
      const { replica } = callee;
      expect(frames.filter(({ type }) => type !== 'heartbeat')).toEqual([
        { type: 'accepted', data: { replica }, replica },
        ...Array.from({ length: 1_000 }, (_, n) => ({ type: 'event', data: { n }, replica })),
        { type: 'progress', data: 'nearly', replica },
        { type: 'result', data: { count: 1_000 }, replica },
      ]);
    });

    it('yields a quick answer alone, and accepted before a slow one', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const [quick, slow] = [names.agentAsk(name('a')), names.agentAsk(name('a'))];
      const { replica } = callee;
      const result = { type: 'result', data: 'done', replica };
      const release = Promise.withResolvers<void>();
      await callee.serve(quick, async function* () {
        yield { type: 'result', data: 'done' };
      });
      await callee.serve(slow, async function* () {
        await release.promise;
        yield { type: 'result', data: 'done' };
      });
      expect(await gather(caller.request(quick, {}))).toEqual([result]);
      const frames = caller.request(slow, {})[Symbol.asyncIterator]();
      expect((await frames.next()).value).toEqual({ type: 'accepted', data: { replica }, replica });
      release.resolve();
      expect((await Array.fromAsync({ [Symbol.asyncIterator]: () => frames })).at(-1)).toEqual(result);
    });

    it('keeps many requests at once apart', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.toolCall(name('t'));
      await callee.serve(subject, echo, { maxConcurrency: 1_000 });
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, n) => resultOf(caller.request(subject, n))),
      );
      expect(results).toEqual(Array.from({ length: 200 }, (_, n) => n));
    });

    it('brings the headers and the name of the caller to the callee', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, async function* ({ headers }) {
        yield { type: 'result', data: headers };
      });
      const headers = { [header.depth]: '3', traceparent: 'tp' };
      expect(await resultOf(caller.request(subject, {}, { headers }))).toEqual({
        ...headers,
        [header.accept]: 'frames',
        [header.caller]: 'caller',
        [header.replica]: caller.replica,
      });
    });

    it('sends one plain JSON reply to a caller that accepts no frames', async () => {
      const [link, callee] = await Promise.all([openLink(), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const handler: RequestHandler = async function* (request) {
        yield { type: 'event', data: 'not for plain callers' };
        yield { type: 'result', data: request.json() };
      };
      await callee.serve(subject, handler);
      const replies = await ask(link, subject, '{"message":"hi"}');
      await until(() => replies.length > 0);
      // The replies of one connection come in order: after this one, the first request gets no more replies.
      const later = await ask(link, subject, '2');
      await until(() => later.length > 0);
      expect(replies).toHaveLength(1);
      expect(textOf(replies[0])).toBe('{"message":"hi"}');
      expect(replies[0]?.headers[header.frame]).toBeUndefined();
    });

    it('sends heartbeats while the handler is silent', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee', { heartbeatMs: 20 })]);
      const subject = names.agentAsk(name('a'));
      const release = Promise.withResolvers<void>();
      await callee.serve(subject, async function* () {
        await release.promise;
        yield { type: 'result', data: 'at last' };
      });
      let heartbeats = 0;
      for await (const frame of caller.request(subject, {})) {
        if (frame.type === 'heartbeat' && ++heartbeats === 5) release.resolve();
        if (frame.type === 'result') expect(frame.data).toBe('at last');
      }
      expect(heartbeats).toBeGreaterThanOrEqual(5);
    });

    it('accepts the plain reply of a service that sends no frames', async () => {
      const [caller, link] = await Promise.all([connect('caller'), openLink()]);
      const subject = names.toolCall(name('t'));
      await link.listen(subject, ({ reply = '' }) => {
        link.send({ subject: reply, headers: {}, bytes: new TextEncoder().encode('{"sum":3}') });
      });
      expect(await gather(caller.request(subject, {}))).toEqual([{ type: 'result', data: { sum: 3 } }]);
    });

    it('accepts an error of the services protocol from a foreign service', async () => {
      const [caller, link] = await Promise.all([connect('caller'), openLink()]);
      const subject = names.toolCall(name('t'));
      await link.listen(subject, ({ reply = '' }) => {
        const headers = { [header.error]: 'no such order', [header.errorCode]: '404' };
        link.send({ subject: reply, headers, bytes: new TextEncoder().encode('plain words') });
      });
      await expectCode(gather(caller.request(subject, {})), 'not_found', /^no such order$/);
    });

    it('can be left early while other requests continue', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const { handler } = hanging();
      const stuck = await callee.serve(subject, handler);
      for await (const frame of caller.request(subject, {})) if (frame.type === 'event') break;
      await stuck.stop({ graceMs: 0 });
      await callee.serve(subject, echo);
      expect(await resultOf(caller.request(subject, 'next'))).toBe('next');
    });
  });
}
