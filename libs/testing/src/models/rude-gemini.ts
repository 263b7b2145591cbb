import { calls, type Dialect, error, events, eventsOf, json, type Reading, text } from './rude-dialects.ts';
import type { WireAnswer } from './rude-server.ts';

type Fields = Record<string, unknown>;

const sig = 'c2lnbmF0dXJl';
const note = (x: unknown, more: Fields = {}) => ({
  functionCall: { name: 'note', args: { x, end: true }, ...more },
});
const stop = { finishReason: 'STOP' };

/** Makes a piece of an answer. */
function piece(parts: Fields[] | undefined, end: Fields = {}): Fields {
  return {
    candidates: [{ ...(parts && { content: { role: 'model', parts } }), index: 0, ...end }],
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 5 },
    modelVersion: 'rude',
  };
}

/** Makes a dialect with a streamed form, and a whole form of the same parts. */
function dialect(name: string, reading: Reading, frames: Fields[], onlyStream = false): Dialect {
  const answer = (isStream: boolean): WireAnswer | undefined => {
    if (isStream) return { headers: events, body: eventsOf(frames) };
    return onlyStream ? undefined : { headers: json, body: JSON.stringify(merged(frames)) };
  };
  return { name, reading, answer };
}

function merged(frames: Fields[]): Fields {
  if (frames.length === 1) return frames[0] ?? {};
  const candidates = frames.flatMap(({ candidates: all }) => (Array.isArray(all) ? all : [])) as Fields[];
  const parts = candidates.flatMap(
    ({ content }) => ((content as Fields | undefined)?.parts ?? []) as Fields[],
  );
  return { ...frames.at(-1), candidates: [{ ...candidates.at(-1), content: { role: 'model', parts } }] };
}

function wire(name: string, reading: Reading, stream?: WireAnswer, whole?: WireAnswer): Dialect {
  return { name, reading, answer: (isStream) => (isStream ? stream : whole) };
}

const empty: [string, Fields[] | undefined][] = [
  ['nothing', undefined],
  ['no parts', []],
  ['empty text', [{ text: '' }]],
  ['blank text', [{ text: '\n ' }]],
  ['a signature', [{ thoughtSignature: sig }]],
  ['a signature beside empty text', [{ text: '', thoughtSignature: sig }]],
  ['a thought', [{ text: 'hm', thought: true, thoughtSignature: sig }]],
  ['bare parts', [{}, { thought: true }]],
];
const reasons = [
  'MALFORMED_FUNCTION_CALL',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'UNEXPECTED_TOOL_CALL',
];

const wordless: Dialect[] = [
  ...empty.map(([what, parts]) =>
    dialect(`STOP and ${what}`, error(/^EMPTY_RESPONSE$/), [piece(parts, stop)]),
  ),
  ...reasons.flatMap((reason) =>
    empty.map(([what, parts]) => {
      const end = { finishReason: reason, finishMessage: `why ${reason}` };
      return dialect(`${reason} and ${what}`, error(new RegExp(`^${reason}$`), /^why /), [piece(parts, end)]);
    }),
  ),
  dialect('a blocked prompt', error(/^PROHIBITED_CONTENT$/), [
    { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } },
  ]),
  dialect('a candidate without content and reason', error(/^EMPTY_RESPONSE$/), [piece(undefined)]),
  dialect('no candidates', error(/^EMPTY_RESPONSE$/), [{ candidates: [] }]),
  dialect('candidates that are null', error(/^EMPTY_RESPONSE$/), [{ candidates: null }]),
  wire('no chunk', error(/^EMPTY_RESPONSE$/), { headers: events, body: '' }, { headers: json, body: '' }),
];

const response = { functionResponse: { name: 'note', id: 'k', response: { a: 1 } } };

const broken: Dialect[] = [
  dialect('text without a finish reason', error(/^unavailable$/), [piece([{ text: 'half an ' }])], true),
  dialect('a call without a finish reason', error(/^unavailable$/), [piece([note(1)])], true),
  dialect(
    'an unspecified reason in each piece, and no other',
    error(/^unavailable$/),
    [piece([{ text: 'half' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' })],
    true,
  ),
  dialect('text, and then a block', error(/^SAFETY$/), [
    piece([{ text: 'half' }]),
    piece(undefined, { finishReason: 'SAFETY' }),
  ]),
  dialect('text, and then a blocked prompt', error(/^OTHER$/), [
    piece([{ text: 'half' }]),
    { promptFeedback: { blockReason: 'OTHER' } },
  ]),
  dialect('text and a malformed call', error(/^MALFORMED_FUNCTION_CALL$/), [
    piece([{ text: 'let me' }], { finishReason: 'MALFORMED_FUNCTION_CALL' }),
  ]),
  dialect('a call at the limit of tokens', error(/^MAX_TOKENS$/), [
    piece([note(1)], { finishReason: 'MAX_TOKENS' }),
  ]),
  dialect(
    'an open call',
    error(/^MALFORMED_FUNCTION_CALL$/),
    [
      piece([
        {
          functionCall: {
            name: 'note',
            partialArgs: [{ jsonPath: '$.x', numberValue: 1 }],
            willContinue: true,
          },
        },
      ]),
      piece(undefined, stop),
    ],
    true,
  ),
  dialect(
    'an open call, and then another call',
    error(/^MALFORMED_FUNCTION_CALL$/),
    [
      piece([
        {
          functionCall: {
            name: 'note',
            partialArgs: [{ jsonPath: '$.x', numberValue: 1 }],
            willContinue: true,
          },
        },
      ]),
      piece([note(2)], stop),
    ],
    true,
  ),
  wire('an error within the stream', error(/^unavailable$/, /overloaded/), {
    headers: events,
    body: eventsOf([
      piece([{ text: 'half' }]),
      { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } },
    ]),
  }),
  dialect('a nameless call', error(/^MALFORMED_FUNCTION_CALL$/), [
    piece([{ functionCall: { args: {} } }], stop),
  ]),
  wire('200 and a page', error(/^unavailable$/, /Sign in/), page(200), page(200)),
];

/** A call whose arguments come in pieces. */
const pieces = (partialArgs: Fields[], more: Fields = {}) => ({
  functionCall: {
    name: 'note',
    partialArgs: [{ jsonPath: '$.end', boolValue: true }, ...partialArgs],
    ...more,
  },
});
const halfCalls: [string, Fields][] = [
  ['a call that goes on', note(1, { willContinue: true })],
  ['a text that goes on', pieces([{ jsonPath: '$.x', stringValue: 'del', willContinue: true }])],
  ['an index behind the end', pieces([{ jsonPath: '$.x[4294967290]', stringValue: 'x' }])],
  ['a length', pieces([{ jsonPath: '$.x[0]' }, { jsonPath: '$.x.length', numberValue: 4_294_967_295 }])],
  ['the path of a prototype', pieces([{ jsonPath: '$.__proto__.x', stringValue: 'x' }])],
];

const half: Dialect[] = [
  ...halfCalls.map(([what, part]) =>
    dialect(`half a call, by ${what}`, error(/^MALFORMED_FUNCTION_CALL$/), [piece([part], stop)]),
  ),
  dialect(
    'a reason before the last data',
    error(/^unavailable$/),
    [piece([{ text: 'half' }], stop), piece([{ text: ' an answer' }])],
    true,
  ),
  dialect('a response in the place of a tool', error(/^EMPTY_RESPONSE$/), [piece([response], stop)]),
  dialect('an empty call of a tool of the server', error(/^EMPTY_RESPONSE$/), [
    piece([{ toolCall: {} }], stop),
  ]),
  ...['123456789012345678901234', '1e400', `${'['.repeat(3_000)}${']'.repeat(3_000)}`].map((value, at) => {
    const whole = JSON.stringify(piece([note(1)], stop)).replace('"x":1', `"x":${value}`);
    return wire(
      `arguments that nobody can hold, ${at}`,
      { kind: 'refused' },
      { headers: events, body: `data: ${whole}\n\n` },
      { headers: json, body: whole },
    );
  }),
];

function page(status: number): WireAnswer {
  return {
    status,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><html><head><title>Sign in</title></head><body>…</body></html>',
  };
}

const fine = [piece([{ text: 'fi' }]), piece([{ text: 'ne' }], stop)];
const readable: Dialect[] = [
  dialect('a call, and a response in the place of its tool', calls(1), [
    piece([note(1, { id: 'k' }), response], stop),
  ]),
  dialect('a call twice, by its id', calls(1), [
    piece([note(1, { id: 'k' })]),
    piece([note(1, { id: 'k' })], stop),
  ]),
  dialect('fields of wrong types', text('fine'), [
    piece([{ text: 'fine', partMetadata: 5 }, { executableCode: { code: 'x', language: {} } }], stop),
  ]),
  dialect('bare parts around text', text('fine'), [
    piece([{ text: 'fine' }, {}, { thought: true }]),
    piece([{ thoughtSignature: sig }], stop),
  ]),
  dialect('a signature before a call', calls(1), [piece([{ thoughtSignature: sig }, note(1)], stop)]),
  dialect('arguments as text', calls(1), [
    piece([{ functionCall: { name: 'note', args: '{"x":1,"end":true}' } }], stop),
  ]),
  dialect('two equal calls', calls(1, 1), [piece([note(1)]), piece([note(1)], stop)]),
  dialect('text at the limit of tokens', text('fine'), [
    piece([{ text: 'fine' }], { finishReason: 'MAX_TOKENS' }),
  ]),
  dialect('half an emoji', text('fine \uFFFD'), [piece([{ text: 'fine \uD83D' }], stop)]),
  dialect(
    'an emoji in two pieces',
    text('fine 😀'),
    [piece([{ text: 'fine \uD83D' }]), piece([{ text: '\uDE00' }], stop)],
    true,
  ),
  dialect('half an emoji in an argument', calls('a\uFFFD'), [piece([note('a\uD83D')], stop)]),
  wire(
    'a number beyond 2^53',
    { kind: 'refused' },
    { headers: events, body: bigNumber('data: ', '\n\n') },
    { headers: json, body: bigNumber('', '') },
  ),
  wire('a list in the place of events', text('fine'), { headers: json, body: JSON.stringify(fine, null, 2) }),
  wire('one value in the place of events', text('fine'), {
    headers: json,
    body: JSON.stringify(merged(fine)),
  }),
  wire('events with a wrong type', text('fine'), {
    headers: { 'content-type': 'text/plain' },
    body: eventsOf(fine),
  }),
  wire('events with single CRs', text('fine'), {
    headers: events,
    body: eventsOf(fine).replaceAll('\n', '\r'),
  }),
  wire('events with comments, ids and pings', text('fine'), {
    headers: events,
    body: `: ping\n\nid: 1\nevent: ping\ndata: null\n\n${eventsOf(fine)}: bye\n\n`,
  }),
  wire('no empty line at the end', text('fine'), { headers: events, body: eventsOf(fine).trimEnd() }),
  wire('JSON in several lines', text('fine'), {
    headers: events,
    body: fine.map((each) => `data: ${JSON.stringify(each, null, 2)}\n\n`).join(''),
  }),
  wire('a slow first byte, and one byte at a time', text('fine'), {
    headers: events,
    body: eventsOf(fine),
    delayMs: 20,
    writeBytes: 1,
  }),
  wire('whole JSON with a wrong type', text('fine'), undefined, {
    headers: { 'content-type': 'text/plain' },
    body: `\uFEFF${JSON.stringify(merged(fine))}`,
  }),
];

function bigNumber(before: string, after: string): string {
  return before + JSON.stringify(piece([note(1)], stop)).replace('"x":1', '"x":9007199254740993') + after;
}

/** The unclean answers of servers with Gemini's interface. */
export const geminiDialects: readonly Dialect[] = [...wordless, ...half, ...broken, ...readable];

/** A clean answer. */
export function geminiText(words: string, isStream: boolean): WireAnswer {
  const whole = piece([{ text: words }], stop);
  return isStream
    ? { headers: events, body: eventsOf([whole]) }
    : { headers: json, body: JSON.stringify(whole) };
}

/** A clean streamed answer with a text and a call, for cuts. */
export const geminiStream: readonly Fields[] = [
  piece([{ text: 'let me ' }]),
  piece([{ text: 'note' }]),
  piece([note('ä1')]),
  piece([{ text: '' }], stop),
];
