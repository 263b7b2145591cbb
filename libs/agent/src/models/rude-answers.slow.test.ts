import { errorDialects, eventsOf, startRudeServer, type WireAnswer } from '@agentmesh/testing';
import { isLongTier } from '@agentmesh/testing/tiers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RoutedLlm } from './routed-llm.ts';
import {
  brokenRules,
  type ModelKind,
  modelKinds,
  startFirstRude,
  strictly,
  talk,
} from './rude-models.fixture.ts';

const both = [false, true];

async function answered(kind: ModelKind, answer: WireAnswer, isStream: boolean) {
  const server = await startFirstRude(kind, () => answer);
  onTestFinished(() => server.close());
  const outcome = await talk(kind.make(server.url), isStream);
  return { ...outcome, server, broken: brokenRules(outcome, server.requests) };
}

const cases = modelKinds.flatMap((kind) =>
  kind.dialects.flatMap((dialect) =>
    both.flatMap((isStream) => {
      const answer = dialect.answer(isStream);
      return answer ? [[kind.name, dialect.name, isStream, { kind, dialect, answer }] as const] : [];
    }),
  ),
);

describe.each(cases)(
  '%s, answered by %s (stream %s)',
  (_kind, _dialect, isStream, { kind, dialect, answer }) => {
    const { reading } = dialect;

    it('reads it as what it is, and goes on', async () => {
      const { broken, texts, failure, noted, refusals, server } = await answered(kind, answer, isStream);
      expect(broken).toEqual([]);
      if (reading.kind === 'text') expect([texts[0], failure]).toEqual([reading.text, undefined]);
      if (reading.kind === 'calls') expect(noted.map(({ x }) => x)).toEqual(reading.xs);
      else expect(noted).toEqual([]);
      if (reading.kind === 'refused') {
        expect(refusals).toEqual([
          expect.stringMatching(/send it as a string|not JSON|no JSON object|nested/),
        ]);
        expect(texts[0]).toBe('well');
      }
      if (reading.kind !== 'error') return;
      expect(failure?.errorCode).toMatch(reading.code);
      if (reading.words) expect(failure?.errorMessage).toMatch(reading.words);
      // One for the answer, one for the next message.
      expect(server.requests).toHaveLength(2);
    });

    it.runIf(reading.kind === 'error')('lets another model answer in its place', async () => {
      const server = await startRudeServer((request) =>
        request.path.includes('spare') || request.body.model === 'spare' ? strictly(kind, request) : answer,
      );
      onTestFinished(() => server.close());
      const spare = Object.assign(kind.make(server.url), { model: 'spare' });
      const model = new RoutedLlm({ models: [kind.make(server.url), spare] });
      const { texts, failure, heard } = await talk(model, isStream);
      // Words that were shown cannot be taken back.
      if (heard.trim() !== '' && failure)
        expect(failure.errorCode).toMatch(reading.kind === 'error' ? reading.code : '');
      else expect(texts).toEqual(['well', 'well']);
    });
  },
);

describe.each(modelKinds)('$name, refused by a server', (kind) => {
  it.each(errorDialects)('tells the status and the words, and asks no more: $name', async (dialect) => {
    for (const isStream of both) {
      const answer = dialect.answer(isStream) as WireAnswer;
      const { broken, failure, server } = await answered(kind, answer, isStream);
      const { reading } = dialect;
      expect(broken).toEqual([]);
      if (reading.kind !== 'error') throw new Error('an error is expected');
      expect(failure?.errorCode).toMatch(reading.code);
      expect(failure?.errorMessage).toMatch(reading.words as RegExp);
      expect(server.requests).toHaveLength(2);
    }
  });
});

it.each(modelKinds)('$name waits as long as its server asks for', async (kind) => {
  for (const isStream of both) {
    const arrivals: number[] = [];
    const server = await startRudeServer((request) => {
      arrivals.push(performance.now());
      if (request.call > 1) return strictly(kind, request);
      return { status: 429, headers: { 'retry-after': '0.2' }, body: '{"error":{"message":"slow down"}}' };
    });
    const { texts } = await talk(kind.make(server.url), isStream);
    await server.close();
    expect(texts[0]).toBe('well');
    // Timers may be a millisecond early.
    expect((arrivals[1] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(198);
  }
});

it.each(modelKinds)('$name, with a reason in each piece, is cut when its stream breaks', async (kind) => {
  const body = eventsOf(kind.withReasons, '');
  const ends = [...body.matchAll(/\n\n/g)].map(({ index }) => index + 2);
  const within = ends.map((end) => end - 20);
  const cuts = [true, false].flatMap((breaks) => within.map((cutAt) => ({ cutAt, breaks })));
  for (const { cutAt, breaks } of [...cuts, ...ends.map((cutAt) => ({ cutAt, breaks: true }))]) {
    const headers = { 'content-type': 'text/event-stream' };
    const server = await startFirstRude(kind, () => ({ headers, body, cutAt, breaks }));
    const { failure, output } = await talk(kind.make(server.url), true);
    await server.close();
    expect([cutAt, failure?.errorCode, output]).toEqual([cutAt, expect.any(String), undefined]);
  }
});

describe.each(modelKinds)('$name, whose stream is cut', (kind) => {
  const body = eventsOf(kind.stream, kind.end);
  const length = Buffer.byteLength(body);
  const step = isLongTier() ? 1 : 17;
  const every = Array.from({ length: Math.ceil(length / step) }, (_, at) => length - at * step);

  it.each([true, false])(
    'makes no half call and commits no half text, at every byte (breaks: %s)',
    async (breaks) => {
      let made = 0;
      for (const cutAt of every) {
        const headers = { 'content-type': 'text/event-stream' };
        const server = await startFirstRude(kind, () => ({ headers, body, cutAt, breaks }));
        const outcome = await talk(kind.make(server.url), true);
        await server.close();
        expect([cutAt, ...brokenRules(outcome, server.requests)]).toEqual([cutAt]);
        expect([0, 1]).toContain(outcome.noted.length);
        // Without its call the answer is not whole. A connection that breaks before it may be tried again.
        const isAgain = server.requests.length > 2;
        if (outcome.noted.length === 0 && !isAgain)
          expect([cutAt, outcome.failure?.errorCode]).toEqual([cutAt, expect.any(String)]);
        made += outcome.noted.length;
      }
      // The whole stream, and cuts behind its end.
      expect(made).toBeGreaterThan(0);
      expect(made).toBeLessThan(every.length / 4);
    },
  );
});
