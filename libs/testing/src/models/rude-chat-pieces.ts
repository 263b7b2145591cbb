import { args, call, chunk, done, message, stream, wire } from './rude-chat-wire.ts';
import { calls, type Dialect, error, events, eventsOf, json } from './rude-dialects.ts';

/** A piece of a call, at an index. */
const piece = (index: unknown, { id, name }: { id?: string; name?: string }, args: string) => ({
  tool_calls: [{ index, ...(id && { id }), function: { ...(name && { name }), arguments: args } }],
});
const first = { id: 'a', name: 'note' };

/** Reasons by which an answer is half, also when a call seems whole. */
const halfReasons: [string, RegExp][] = [
  ['RECITATION', /^RECITATION$/],
  ['recitation', /^RECITATION$/],
  ['BLOCKLIST', /^BLOCKLIST$/],
  ['OTHER', /^OTHER$/],
  ['malformed_function_call', /^MALFORMED_FUNCTION_CALL$/],
  ['guardrail_intervened', /^GUARDRAIL_INTERVENED$/],
  ['timeout', /^unavailable$/],
  ['server_error', /^unavailable$/],
  ['incomplete', /^unavailable$/],
];

/** Answers that are half, although they seem to have come to an end. */
export const half: readonly Dialect[] = [
  ...halfReasons.flatMap(([reason, code]) => [
    message(`text and ${reason}`, error(code), { content: 'half' }, reason),
    message(`a call and ${reason}`, error(code), { content: null, tool_calls: [call(1)] }, reason),
  ]),
  ...['max_output_tokens', 'model_context_window_exceeded'].map((reason) =>
    message(`a call and ${reason}`, error(/^MAX_TOKENS$/), { content: null, tool_calls: [call(1)] }, reason),
  ),
  stream('a filter, and then stop', error(/^SAFETY$/), [
    chunk({ content: 'half' }, 'content_filter'),
    chunk({}, 'stop'),
  ]),
  stream('an error as the reason, and then stop', error(/^unavailable$/), [
    chunk({ content: 'half' }, 'error'),
    chunk({}, 'stop'),
  ]),
  stream('a call, the limit of tokens, and then stop', error(/^MAX_TOKENS$/), [
    chunk({ tool_calls: [call(1, { index: 0 })] }, 'length'),
    chunk({}, 'stop'),
  ]),
  stream('a reason before the last data', error(/^unavailable$/), [
    chunk({ content: 'half' }, 'stop'),
    chunk({ content: ' an answer' }),
  ]),
  stream('an error in the choice, and stop', error(/^unavailable$/, /provider died/), [
    chunk({ content: 'half' }),
    { choices: [{ delta: {}, finish_reason: 'stop', error: { code: 502, message: 'provider died' } }] },
  ]),
  message(
    'announced calls that do not come behind words',
    error(/^MALFORMED_FUNCTION_CALL$/, /announced/),
    { content: 'Let me note that.' },
    'tool_calls',
  ),
  ...[args(1).replace('1', '1e400'), args(1).replace('1', `${'['.repeat(3_000)}${']'.repeat(3_000)}`)].map(
    (each, at) =>
      stream(`arguments that nobody can hold, ${at}`, { kind: 'refused' }, [
        chunk(piece(0, first, each), 'tool_calls'),
      ]),
  ),
];

/** Answers whose calls come again, or in several places. */
export const repeated: readonly Dialect[] = [
  stream('a call twice', calls(1), [
    chunk(piece(0, first, args(1))),
    chunk(piece(0, first, args(1)), 'tool_calls'),
  ]),
  stream('a call in pieces, and then whole', calls(1), [
    chunk(piece(0, first, '{"x":1')),
    chunk(piece(0, {}, ',"end":true}')),
    chunk(piece(0, first, '{"end":true, "x":1}'), 'tool_calls'),
  ]),
  stream('a call in pieces, and then whole without its id', calls(1), [
    chunk(piece(0, first, '{"x":1')),
    chunk(piece(0, {}, ',"end":true}')),
    chunk(piece(0, { name: 'note' }, args(1)), 'tool_calls'),
  ]),
  ...[first, { id: 'a' }, {}].map((fields) =>
    stream(`{} before the arguments, with ${Object.keys(fields)}`, calls(1), [
      chunk(piece(0, first, '{}')),
      chunk(piece(0, fields, '{"x":1')),
      chunk(piece(0, {}, ',"end":true}'), 'tool_calls'),
    ]),
  ),
  stream('{} behind the arguments', calls(1), [
    chunk(piece(0, first, args(1))),
    chunk(piece(0, first, '{}'), 'tool_calls'),
  ]),
  stream('two calls whose indexes are texts', calls(1, 2), [
    chunk(piece('0', first, '{"x":1')),
    chunk(piece('1', { id: 'b', name: 'note' }, '{"x":2')),
    chunk(piece('0', {}, ',"end":true}')),
    chunk(piece('1', {}, ',"end":true}'), 'tool_calls'),
  ]),
  wire(
    'words in one choice, and calls in others',
    calls(1, 2),
    {
      headers: events,
      body: eventsOf(
        [
          chunk({ content: 'Let me note it.' }),
          ...[1, 2].map((x) => ({
            choices: [{ index: x, delta: piece(0, { name: 'note' }, `{"x":${x}`), finish_reason: null }],
          })),
          ...[1, 2].map((x) => ({
            choices: [{ index: x, delta: piece(0, {}, ',"end":true}'), finish_reason: 'tool_calls' }],
          })),
        ],
        done,
      ),
    },
    {
      headers: json,
      body: JSON.stringify({
        choices: [
          { message: { content: 'Let me note it.' }, finish_reason: 'tool_calls' },
          { message: { tool_calls: [call(1)] }, finish_reason: 'tool_calls' },
          { message: { tool_calls: [call(2)] }, finish_reason: 'tool_calls' },
        ],
      }),
    },
  ),
];
