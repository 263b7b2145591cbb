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
type Events = Parameters<typeof buildContents>[0]['events'];
const wordsOf = (events: Events, include: 'none' | 'default') => {
  const { invocationId = '' } = events.findLast(({ author }) => author === 'user') ?? {};
  const contents = buildContents({ events, invocationId, agentName: 'me', branch: undefined, include });
  return contents.map(({ parts = [] }) => parts.map((part) => part.text ?? Object.keys(part)[0]).join(' '));
};
const current = (...events: Events) => wordsOf(events, 'none');

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

  it('are those of the turn of a call that is answered now', () => {
    const events = [
      textEvent('user', 'old'),
      calls('me', 'a'),
      textEvent('user', 'new'),
      textEvent('me', 'wait'),
    ];
    expect(current(...events, { ...answers('user', 'a'), invocationId: 'e-2' })).toEqual([
      'old',
      'functionCall',
      'functionResponse',
    ]);
  });
});

describe('the contents of a conversation in which an earlier call makes progress', () => {
  const earlier = [
    { ...textEvent('user', 'old'), invocationId: 'e-1' },
    { ...calls('me', 'a'), invocationId: 'e-1' },
    { ...answers('me', 'a'), invocationId: 'e-1' },
    { ...textEvent('me', 'it is at work'), invocationId: 'e-1' },
  ];
  const progress = { ...answers('me', 'a'), invocationId: 'e-1' };
  const message = { ...textEvent('user', 'new'), invocationId: 'e-2' };
  const call = { ...calls('me', 'b'), invocationId: 'e-2' };
  const result = { ...answers('me', 'b'), invocationId: 'e-2' };
  const outcome = { ...answers('user', 'a'), invocationId: 'e-3' };
  const past = ['old', 'functionCall', 'functionResponse', 'it is at work'];
  const turn = ['new', 'functionCall', 'functionResponse'];

  it.each<[string, Events, string[], string[]]>([
    ['before the first step', [message, progress], ['new'], past],
    ['before the call of a tool', [message, progress, call, result], turn, past],
    ['while a tool works', [message, call, progress, result], turn, past],
    ['before the second step', [message, call, result, progress], turn, past],
    [
      'behind the outcome that woke the agent',
      [message, outcome, progress],
      ['old', 'functionCall', 'functionResponse'],
      [],
    ],
  ])('keep the present turn: %s', (_, events, present, before) => {
    const all = [...earlier, ...events];
    expect(wordsOf(all, 'none')).toEqual(present);
    expect(wordsOf(all, 'default')).toEqual([...before, ...present]);
  });
});
