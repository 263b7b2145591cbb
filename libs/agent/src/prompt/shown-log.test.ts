import type { Event } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { lendContents } from '../base/base-llm.ts';
import { createEvent } from '../events/event.ts';
import { buildContents } from './contents.ts';

type Request = Parameters<typeof buildContents>[0];

const contentsOf = (events: readonly Event[], of: Partial<Request> = {}) =>
  buildContents({
    events,
    invocationId: 'e-now',
    agentName: 'me',
    branch: undefined,
    include: 'default',
    ...of,
  });

const eventOf = (author: string, part: Part, of: Partial<Event> = {}) =>
  createEvent({ author, content: { role: author === 'user' ? 'user' : 'model', parts: [part] }, ...of });
const call = (id: string, name = 'f'): Part => ({ functionCall: { id, name, args: { list: [1] } } });
const response = (id: string, value: number, name = 'f'): Part => ({
  functionResponse: { id, name, response: { value } },
});

/** Makes numbers below a limit, the same ones for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** Makes events of several agents, branches and invocations, with calls whose responses come at any time. */
function randomEvents(seed: number, count: number): Event[] {
  const below = numbers(seed);
  const pick = <T>(values: readonly T[]) => values[below(values.length)] as T;
  return Array.from({ length: count }, (_, at) => {
    const id = `adk-${below(8)}`;
    const name = pick(['f', 'f', 'f', 'adk_request_confirmation']);
    const part = pick([{ text: `text ${at}` }, call(id, name), response(id, at, name)]);
    const branch = pick([undefined, undefined, 'one', 'two']);
    return eventOf(pick(['user', 'me', 'other']), part, {
      invocationId: pick(['e-1', 'e-2', 'e-3']),
      ...(branch !== undefined && { branch }),
    });
  });
}

describe('the contents of a growing log', () => {
  it.each([1, 2, 3, 4, 5])('are those of the same log that is read for the first time, seed %d', (seed) => {
    const log: Event[] = [];
    for (const event of randomEvents(seed, 60)) {
      log.push(event);
      for (const agentName of ['me', 'other'])
        for (const branch of [undefined, 'one'])
          for (const include of ['default', 'none'] as const) {
            const of = { agentName, branch, include, invocationId: event.invocationId };
            expect(contentsOf(log, of)).toEqual(contentsOf([...log], of));
          }
    }
  });

  it('show a call as soon as it is answered, and its last response', () => {
    const log = [eventOf('user', { text: 'go' }), eventOf('me', call('a')), eventOf('me', { text: 'wait' })];
    const shown = () => JSON.stringify(contentsOf(log));
    expect(shown()).not.toContain('functionCall');
    log.push(eventOf('user', response('a', 1)));
    expect(shown()).toMatch(/functionCall.*"value":1.*wait/);
    log.push(eventOf('user', response('a', 2)));
    expect(shown()).toMatch(/functionCall.*"value":2.*wait/);
    expect(shown()).not.toContain('"value":1');
  });

  it('are not changed by a change of an earlier request', () => {
    const log = [eventOf('user', { text: 'go' }), eventOf('me', call('a')), eventOf('me', response('a', 1))];
    const before = structuredClone(log);
    const config = { model: 'm', config: {}, toolsDict: {} };
    const { contents } = lendContents(config, contentsOf(log));
    const expected = structuredClone(contents);
    for (const content of contents) {
      const [part = {}] = content.parts ?? [];
      (part.functionCall?.args?.list as number[] | undefined)?.push(2);
      Object.assign(part.functionResponse?.response ?? {}, { value: 2 });
      part.text = 'changed';
      content.role = 'changed';
      content.parts?.push({ text: 'more' });
    }
    contents.length = 0;
    expect(contentsOf(log)).toEqual(expected);
    expect(log).toEqual(before);
  });

  it('keep the words of other agents in this invocation between a call and its late answer', () => {
    const log = [
      eventOf('me', call('a'), { invocationId: 'e-before' }),
      eventOf('other', { text: 'earlier' }, { invocationId: 'e-before' }),
      eventOf('other', { text: 'now' }, { invocationId: 'e-now' }),
      eventOf('user', response('a', 1), { invocationId: 'e-now' }),
    ];
    expect(JSON.stringify(contentsOf(log))).toMatch(/functionCall((?!earlier).)*functionResponse.*now/);
  });

  it('are those of another log in the same list', () => {
    const log = [eventOf('user', { text: 'old' }), eventOf('me', { text: 'answer' })];
    contentsOf(log);
    log.splice(0, 2, eventOf('user', { text: 'new' }));
    expect(contentsOf(log)).toEqual([{ role: 'user', parts: [{ text: 'new' }] }]);
  });
});
