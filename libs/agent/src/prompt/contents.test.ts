import { describe, expect, it } from 'vitest';
import { createEvent } from '../events/event.ts';
import { buildContents } from './contents.ts';

const textEvent = (author: string, text: string) =>
  createEvent({ author, content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] } });
const calls = (author: string, id: string) =>
  createEvent({ author, content: { role: 'model', parts: [{ functionCall: { id, name: 'f', args: {} } }] } });
const answers = (author: string, id: string) =>
  createEvent({
    author,
    content: { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: { ok: true } } }] },
  });
const current = (...events: Parameters<typeof buildContents>[0]['events'][number][]) =>
  buildContents({ events, agentName: 'me', branch: undefined, include: 'none' }).map(({ parts = [] }) =>
    parts.map((part) => part.text ?? Object.keys(part)[0]).join(' '),
  );

describe('the contents of the current turn alone', () => {
  it('begin with the last message, and include the calls made since', () => {
    expect(
      current(textEvent('user', 'old'), textEvent('user', 'new'), calls('me', 'a'), answers('me', 'a')),
    ).toEqual(['new', 'functionCall', 'functionResponse']);
  });

  it('begin with the call whose result another agent got last', () => {
    expect(current(textEvent('user', 'old'), calls('other', 'a'), answers('other', 'a'))).toEqual([
      'For context: [other] called tool `f` with parameters: {}',
      'For context: [other] tool `f` returned result: {"ok":true}',
    ]);
  });

  it('include the call of an earlier turn that is answered now', () => {
    const events = [
      textEvent('user', 'old'),
      calls('me', 'a'),
      textEvent('user', 'new'),
      textEvent('me', 'wait'),
    ];
    expect(current(...events, { ...answers('user', 'a'), invocationId: 'e-2' })).toEqual([
      'functionCall',
      'functionResponse',
    ]);
  });
});

describe('the contents of a whole conversation', () => {
  it('keep the new message when the progress of an earlier call comes behind it', () => {
    const events = [
      { ...textEvent('user', 'old'), invocationId: 'e-1' },
      { ...calls('me', 'a'), invocationId: 'e-1' },
      { ...answers('me', 'a'), invocationId: 'e-1' },
      { ...textEvent('me', 'it is at work'), invocationId: 'e-1' },
      { ...textEvent('user', 'new'), invocationId: 'e-2' },
      { ...answers('me', 'a'), invocationId: 'e-1' },
    ];
    const contents = buildContents({ events, agentName: 'me', branch: undefined, include: 'default' });
    expect(contents.map(({ parts = [] }) => parts[0]?.text ?? Object.keys(parts[0] ?? {})[0])).toEqual([
      'old',
      'functionCall',
      'functionResponse',
      'it is at work',
      'new',
    ]);
  });
});
