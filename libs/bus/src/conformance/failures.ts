import { header, MeshError, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { ask, echo, expectCode, gather, hanging, resultOf, textOf } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();

export function describeFailures({ connect, openLink, kill, name }: Scene): void {
  describe('failing requests', () => {
    it('are unavailable at once when nobody listens', async () => {
      const caller = await connect('caller');
      // The first call of a connection opens its inbox.
      await expectCode(gather(caller.request(names.agentAsk(name('a')), {})), 'unavailable', /nobody/);
      const startedAt = performance.now();
      await expectCode(gather(caller.request(names.agentAsk(name('a')), {})), 'unavailable', /nobody/);
      expect(performance.now() - startedAt).toBeLessThan(100);
    });

    it('are unavailable when the callee dies', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, hanging().handler);
      const call = (async () => {
        for await (const frame of caller.request(subject, {}, { silenceMs: 150 })) {
          if (frame.type === 'event') await kill(callee);
        }
      })();
      await expectCode(call, 'unavailable', /no sign of life .* died or hangs/);
    });

    it('are unavailable when a frame is missing', async () => {
      const [caller, link] = await Promise.all([connect('caller'), openLink()]);
      const subject = names.agentAsk(name('a'));
      await link.listen(subject, ({ reply = '' }) => {
        for (const seq of ['0', '1', '3']) {
          const headers = { [header.frame]: 'event', [header.seq]: seq };
          link.send({ subject: reply, headers, bytes: new TextEncoder().encode(seq) });
        }
      });
      const seen: unknown[] = [];
      const call = (async () => {
        for await (const frame of caller.request(subject, {})) seen.push('data' in frame && frame.data);
      })();
      await expectCode(call, 'unavailable', /missing/);
      expect(seen).toEqual([0, 1]);
    });

    it('return the error of the callee with code, message and details, without its cause', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const problem = new MeshError('failed_precondition', 'not\r\nyet', {
        details: { why: 'early' },
        cause: new Error('secret'),
      });
      // biome-ignore lint/correctness/useYield: the handler throws before its first frame
      await callee.serve(subject, async function* () {
        throw problem;
      });
      const error: unknown = await gather(caller.request(subject, {})).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'failed_precondition',
        message: 'not\r\nyet',
        details: { why: 'early' },
      });
      expect((error as Error).cause).toBeUndefined();
    });

    it('are internal when the handler has a defect, which only the callee reports', async () => {
      const problems: unknown[] = [];
      const callee = await connect('callee', { onError: (error) => problems.push(error) });
      const caller = await connect('caller');
      const subject = names.agentAsk(name('a'));
      const defect = new TypeError('x is not a function');
      await callee.serve(subject, () => {
        throw defect;
      });
      await expectCode(gather(caller.request(subject, {})), 'internal', /^internal error$/);
      expect(problems).toEqual([defect]);
    });

    it('are internal when the handler ends without a result', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, async function* () {
        yield { type: 'event', data: 1 };
      });
      await expectCode(gather(caller.request(subject, {})), 'internal');
    });

    it('end at their deadline, on both sides', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const { handler, signal } = hanging();
      await callee.serve(subject, handler);
      const headers = { [header.deadline]: String(Date.now() + 150) };
      await expectCode(gather(caller.request(subject, {}, { headers })), 'deadline_exceeded');
      const handed = await signal;
      await until(() => handed.aborted);
      expect(handed.reason).toMatchObject({ code: 'deadline_exceeded' });
    });

    it('are not started after their deadline', async () => {
      const [link, caller, callee] = await Promise.all([openLink(), connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      let started = 0;
      await callee.serve(subject, (request) => {
        started += 1;
        return echo(request);
      });
      const late = { [header.deadline]: String(Date.now() - 1) };
      await expectCode(gather(caller.request(subject, {}, { headers: late })), 'deadline_exceeded');
      const replies = await ask(link, subject, '{}', late);
      await until(() => replies.length > 0);
      expect(replies[0]?.headers[header.errorCode]).toBe('504');
      expect(started).toBe(0);
    });

    it('are cancelled by their signal', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const { handler, started } = hanging();
      await callee.serve(subject, handler);
      const cancel = new AbortController();
      const call = gather(caller.request(subject, {}, { signal: cancel.signal }));
      call.catch(() => {});
      await started;
      cancel.abort();
      await expectCode(call, 'cancelled');
      await expectCode(gather(caller.request(subject, {}, { signal: cancel.signal })), 'cancelled');
      await expectCode(
        gather(caller.request(subject, {}, { signal: AbortSignal.timeout(20) })),
        'deadline_exceeded',
      );
    });

    it('are invalid when they are not JSON, and leave the callee unharmed', async () => {
      const [link, caller, callee] = await Promise.all([openLink(), connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, echo);
      for (const text of ['{"open":', '\u0000', 'plain']) {
        const replies = await ask(link, subject, text);
        await until(() => replies.length > 0);
        expect(replies[0]?.headers[header.errorCode]).toBe('400');
        expect(JSON.parse(textOf(replies[0]))).toMatchObject({ code: 'invalid_argument' });
      }
      expect(await resultOf(caller.request(subject, 'fine'))).toBe('fine');
    });

    it('name the limit when the request or the answer is over it', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const large = 'x'.repeat(32 * 2 ** 20);
      await callee.serve(subject, async function* () {
        yield { type: 'result', data: large };
      });
      const tooLarge = /33554434 bytes .*limit of 33554432/;
      await expectCode(gather(caller.request(subject, large)), 'invalid_argument', tooLarge);
      await expectCode(gather(caller.request(subject, {})), 'internal', tooLarge);
      await expectCode(caller.publish(subject, large), 'invalid_argument', tooLarge);
      const enqueued = caller.enqueue(subject, large, { messageId: name('m') });
      await expectCode(enqueued, 'invalid_argument', tooLarge);
    });

    it('end when their own bus is closed', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const { handler, started } = hanging();
      await callee.serve(subject, handler);
      const call = gather(caller.request(subject, {}));
      call.catch(() => {});
      await started;
      await caller[Symbol.asyncDispose]();
      await expectCode(call, 'unavailable', /closed/);
    });
  });
}
