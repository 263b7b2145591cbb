import { type Dialect, events, eventsOf, json, type Reading } from './rude-dialects.ts';
import type { WireAnswer } from './rude-server.ts';

type Fields = Record<string, unknown>;

export const args = (x: unknown) => JSON.stringify({ x, end: true });
export const call = (x: unknown, more: Fields = {}) => ({
  id: `c${x}`,
  type: 'function',
  function: { name: 'note', arguments: args(x) },
  ...more,
});
/** The end of each stream. */
export const done = 'data: [DONE]\n\n';

export function chunk(delta: Fields, reason: string | null = null, more: Fields = {}): Fields {
  return {
    id: 'r',
    object: 'chat.completion.chunk',
    model: 'rude',
    choices: [{ index: 0, delta, finish_reason: reason }],
    ...more,
  };
}

export function completion(message: Fields, reason: string | null): Fields {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }];
  return {
    id: 'r',
    object: 'chat.completion',
    model: 'rude',
    choices,
    usage: { prompt_tokens: 1, total_tokens: 2 },
  };
}

/** Makes a dialect whose message comes whole, or as one piece of a stream. */
export function message(
  name: string,
  reading: Reading,
  fields: Fields,
  reason: string | null = 'stop',
): Dialect {
  const indexed = Array.isArray(fields.tool_calls)
    ? { ...fields, tool_calls: fields.tool_calls.map((each: Fields, index) => ({ index, ...each })) }
    : fields;
  return wire(
    name,
    reading,
    { headers: events, body: eventsOf([chunk(indexed), chunk({}, reason)], done) },
    { headers: json, body: JSON.stringify(completion(fields, reason)) },
  );
}

export function stream(name: string, reading: Reading, frames: unknown[], end = done): Dialect {
  return wire(name, reading, { headers: events, body: eventsOf(frames, end) });
}

export function wire(name: string, reading: Reading, streamed?: WireAnswer, whole?: WireAnswer): Dialect {
  return { name, reading, answer: (isStream) => (isStream ? streamed : whole) };
}

export const both = (body: string, status = 200): [WireAnswer, WireAnswer] => [
  { status, headers: json, body },
  { status, headers: json, body },
];

/** A clean answer. */
export function chatText(words: string, isStream: boolean): WireAnswer {
  return isStream
    ? { headers: events, body: eventsOf([chunk({ content: words }), chunk({}, 'stop')], done) }
    : { headers: json, body: JSON.stringify(completion({ content: words }, 'stop')) };
}

/** A clean streamed answer with a text and a call, for cuts. */
export const chatStream: readonly Fields[] = [
  chunk({ content: 'let me ' }),
  chunk({ content: 'note' }),
  chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'note', arguments: '{"x":"ä1"' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: ',"end":true}' } }] }),
  chunk({}, 'tool_calls'),
];
