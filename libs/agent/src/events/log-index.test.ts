import type { Event } from '@agentmesh/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEvent, getFunctionCalls, getFunctionResponses } from './event.ts';
import { logIndex } from './log-index.ts';
import { questionNames } from './question.ts';

const ids = ['c1', 'c2', 'q1', 'q2'];
const invocations = ['e-1', 'e-2', 'e-3'];

/** An event of one of a few agents and invocations: it calls, asks, answers or rewinds. */
const anyEvent = fc
  .record({
    author: fc.constantFrom('user', 'one', 'two'),
    invocationId: fc.constantFrom(...invocations),
    kind: fc.constantFrom('text', 'call', 'ask', 'answer', 'answer', 'progress', 'rewind'),
    id: fc.constantFrom(...ids),
    about: fc.constantFrom('c1', 'c2'),
  })
  .map(({ author, invocationId, kind, id, about }) => {
    const parts = {
      text: { text: 'words' },
      call: { functionCall: { id: about, name: 'work', args: {} } },
      ask: { functionCall: { id, name: questionNames.input, args: { functionCallId: about } } },
      answer: { functionResponse: { id, name: 'work', response: {} } },
      progress: { functionResponse: { id, name: 'work', response: {}, willContinue: true } },
      rewind: undefined,
    }[kind];
    return createEvent({
      author,
      invocationId,
      ...(parts && { content: { role: 'model', parts: [parts] } }),
      ...(kind === 'rewind' && { actions: { rewindBeforeInvocationId: invocationId } }),
    });
  });

/** Returns the events that are not rewound, found without the index. */
function visibleOf(events: readonly Event[]): Event[] {
  let visible: Event[] = [];
  for (const event of events) {
    const { rewindBeforeInvocationId: before } = event.actions;
    if (before === undefined) visible.push(event);
    else {
      const start = visible.findIndex(({ invocationId }) => invocationId === before);
      if (start !== -1) visible = visible.slice(0, start);
    }
  }
  return visible;
}

interface Asked {
  id: string;
  callId: string;
  answered: boolean;
}

/** Returns the questions of a log by id, in the order in which they were first asked. */
function questionsOf(events: readonly Event[]): Asked[] {
  const questions = new Map<string, Asked>();
  for (const event of events) {
    if (event.author === 'user') {
      for (const { id = '' } of getFunctionResponses(event)) {
        const question = questions.get(id);
        if (question) question.answered = true;
      }
      continue;
    }
    for (const { id = '', name, args = {} } of getFunctionCalls(event)) {
      if (name !== questionNames.input) continue;
      questions.delete(id);
      questions.set(id, { id, callId: String(args.functionCallId), answered: false });
    }
  }
  return [...questions.values()];
}

describe('the index of a log', () => {
  it('gives the same answers as a scan of the log, in whatever pieces the log grew', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 25 }), fc.nat(25), (log, at) => {
        const events = log.slice(0, at);
        // An index that was read in between takes in the remaining events later.
        logIndex(events);
        events.push(...log.slice(at));
        const index = logIndex(events);
        const visible = visibleOf(events);
        expect(index.visible()).toEqual(visible);
        for (const invocation of invocations) {
          const own = visible.filter(({ invocationId }) => invocationId === invocation);
          expect(index.ofInvocation(invocation)).toEqual(own);
        }
        for (const author of ['user', 'one', 'two'])
          expect(index.lastBy(author)).toBe(
            events.findLastIndex((event) => event.author === author && visible.includes(event)),
          );
        for (const id of ids) {
          const calls = visible.filter((event) => getFunctionCalls(event).some((call) => call.id === id));
          expect(index.callsOf(id)).toEqual(calls);
          expect(index.lastCallOf([id])).toBe(calls.at(-1));
          expect(index.firstCallOf([id], ({ author }) => author === 'one')).toBe(
            calls.find(({ author }) => author === 'one'),
          );
          const responses = visible.filter((event) =>
            getFunctionResponses(event).some((each) => each.id === id),
          );
          expect(index.responsesTo(id).map(({ event }) => event)).toEqual(responses);
        }
        const questions = questionsOf(visible);
        for (const callId of ['c1', 'c2']) {
          const own = questions.filter((question) => question.callId === callId);
          expect(index.questionsOfCall(callId).map(({ id }) => id)).toEqual(own.map(({ id }) => id));
          expect(index.isWaiting(callId)).toBe(own.at(-1)?.answered === false);
        }
        const open = questions.filter(({ answered }) => !answered).map(({ id }) => id);
        expect([...index.openQuestions].map(({ id }) => id).sort()).toEqual(open.sort());
      }),
      { numRuns: 500 },
    );
  });

  it('takes in thousands of rewinds as fast as any events', () => {
    const rounds = 3_000;
    const regenerate = Array.from({ length: rounds }, (_, n) => [
      createEvent({ invocationId: `e-${n}`, author: 'user' }),
      createEvent({ invocationId: `e-${n}`, author: 'one' }),
      createEvent({ author: 'user', actions: { rewindBeforeInvocationId: `e-${n}` } }),
      createEvent({ invocationId: `again-${n}`, author: 'user' }),
    ]).flat();
    const unknown = Array.from({ length: rounds }, () =>
      createEvent({ author: 'user', actions: { rewindBeforeInvocationId: 'none' } }),
    );
    const begin = performance.now();
    expect(logIndex([...regenerate, ...unknown]).visible()).toHaveLength(rounds);
    // The test took minutes when each rewind went through all events and all rewinds.
    expect(performance.now() - begin).toBeLessThan(2_000);
  });

  it('is rebuilt for a changed list', () => {
    const events = [createEvent({ id: 'a' }), createEvent({ id: 'b' })];
    expect(logIndex(events).has('b')).toBe(true);
    events[1] = createEvent({ id: 'c' });
    expect(logIndex(events).has('b')).toBe(false);
    events.length = 0;
    expect(logIndex(events).has('a')).toBe(false);
  });
});
