import { half, repeated } from './rude-chat-pieces.ts';
import { args, both, call, chunk, completion, done, message, stream, wire } from './rude-chat-wire.ts';
import { calls, type Dialect, error, events, eventsOf, json, text } from './rude-dialects.ts';

const wordless: Dialect[] = [
  message('null content', error(/^EMPTY_RESPONSE$/), { content: null }),
  message('empty content', error(/^EMPTY_RESPONSE$/), { content: '' }),
  message('no content', error(/^EMPTY_RESPONSE$/), {}),
  message('reasoning only', error(/^EMPTY_RESPONSE$/), { content: null, reasoning_content: 'hm' }),
  message(
    'announced calls that do not come',
    error(/^EMPTY_RESPONSE$/, /announced/),
    { content: null, tool_calls: [] },
    'tool_calls',
  ),
  message('a refusal', error(/^SAFETY$/, /cannot help/), { content: null, refusal: 'I cannot help.' }),
  message('a filter', error(/^SAFETY$/), { content: null }, 'content_filter'),
  message('text and then a filter', error(/^SAFETY$/), { content: 'half' }, 'content_filter'),
  message('no tokens left', error(/^MAX_TOKENS$/), { content: null }, 'length'),
  wire('no choices', error(/^EMPTY_RESPONSE$/), ...both('{"id":"r","choices":[]}')),
  wire('choices that are null', error(/^EMPTY_RESPONSE$/), ...both('{"id":"r","choices":null}')),
  wire('no body', error(/^EMPTY_RESPONSE$/), ...both('')),
  stream('nothing but the end', error(/^EMPTY_RESPONSE$/), []),
  wire(
    '200 and an error',
    error(/^unavailable$/, /no credits/),
    ...both('{"error":{"message":"no credits"}}'),
  ),
  wire(
    '200 and an error with a code',
    error(/^402$/, /no credits/),
    ...both('{"error":{"message":"no credits","code":402}}'),
  ),
  wire(
    '200 and an error as text',
    error(/^unavailable$/, /model not found/),
    ...both('{"error":"model not found"}'),
  ),
  wire('200 and details', error(/^unavailable$/, /not signed in/), ...both('{"detail":"not signed in"}')),
];

const broken: Dialect[] = [
  stream('text without a finish reason', error(/^unavailable$/), [chunk({ content: 'half' })], ''),
  stream(
    'a call without a finish reason',
    error(/^unavailable$/),
    [chunk({ tool_calls: [call(1, { index: 0 })] })],
    '',
  ),
  message(
    'a call at the limit of tokens',
    error(/^MAX_TOKENS$/),
    { content: null, tool_calls: [call(1)] },
    'length',
  ),
  message('a failure as the finish reason', error(/^unavailable$/), { content: 'half' }, 'error'),
  message(
    'a busy server as the finish reason',
    error(/^unavailable$/),
    { content: 'half' },
    'insufficient_system_resource',
  ),
  message(
    'a nameless call',
    error(/^MALFORMED_FUNCTION_CALL$/),
    { content: null, tool_calls: [{ id: 'c', type: 'function', function: { arguments: '{}' } }] },
    'tool_calls',
  ),
  message(
    'half arguments',
    { kind: 'refused' },
    {
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'note', arguments: '{"x":1,' } }],
    },
    'tool_calls',
  ),
  message(
    'a list of arguments',
    { kind: 'refused' },
    {
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'note', arguments: '[1]' } }],
    },
    'tool_calls',
  ),
  message(
    'a number beyond 2^53',
    { kind: 'refused' },
    {
      content: null,
      tool_calls: [
        {
          id: 'c',
          type: 'function',
          function: { name: 'note', arguments: '{"x":9007199254740993,"end":true}' },
        },
      ],
    },
    'tool_calls',
  ),
  stream('an error within the stream', error(/^unavailable$/, /overloaded/), [
    chunk({ content: 'half' }),
    { error: { message: 'overloaded', code: 502 } },
  ]),
  wire('an error event', error(/^unavailable$/, /went away/), {
    headers: events,
    body: `event: error\ndata: {"message":"went away"}\n\n`,
  }),
];

const readable: Dialect[] = [
  stream('two calls at index 0', calls(1, 2), [
    chunk({ tool_calls: [call(1, { index: 0 })] }),
    chunk({ tool_calls: [call(2, { index: 0 })] }),
    chunk({}, 'tool_calls'),
  ]),
  stream('two calls with one id', calls(1, 2), [
    chunk({ tool_calls: [call(1, { index: 0, id: 'call_0' })] }),
    chunk({ tool_calls: [call(2, { index: 1, id: 'call_0' })] }),
    chunk({}, 'tool_calls'),
  ]),
  stream('two calls with one id at one index', { kind: 'refused' }, [
    chunk({ tool_calls: [call(1, { index: 0, id: 'call_0' })] }),
    chunk({ tool_calls: [call(2, { index: 0, id: 'call_0' })] }, 'tool_calls'),
  ]),
  stream('two calls without an index', calls(1, 2), [
    chunk({ tool_calls: [call(1)] }),
    chunk({ tool_calls: [call(2)] }),
    chunk({}, 'tool_calls'),
  ]),
  stream('two calls without an index and an id', calls(1, 1), [
    chunk(
      {
        tool_calls: [
          { function: { name: 'note', arguments: args(1) } },
          { function: { name: 'note', arguments: args(1) } },
        ],
      },
      'stop',
    ),
  ]),
  stream('pieces of two calls without an index', calls(1, 2), [
    chunk({ tool_calls: [{ id: 'a', function: { name: 'note', arguments: '{"x":1' } }] }),
    chunk({ tool_calls: [{ function: { arguments: ',"end":true}' } }] }),
    chunk({ tool_calls: [{ id: 'b', function: { name: 'note', arguments: '{"x":2' } }] }),
    chunk({ tool_calls: [{ id: 'b', function: { arguments: ',"end":true}' } }] }, 'tool_calls'),
  ]),
  stream('a name in each piece', calls(1), [
    chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'note', arguments: '{"x":1' } }] }),
    chunk(
      { tool_calls: [{ index: 0, id: 'a', function: { name: 'note', arguments: ',"end":true}' } }] },
      'tool_calls',
    ),
  ]),
  message(
    'a call without a type',
    calls(1),
    { content: null, tool_calls: [{ id: 'c', function: { name: 'note', arguments: args(1) } }] },
    'tool_calls',
  ),
  message(
    'arguments as an object',
    calls(1),
    { content: null, tool_calls: [{ id: 'c', function: { name: 'note', arguments: { x: 1, end: true } } }] },
    'tool_calls',
  ),
  message(
    'arguments written twice',
    calls(1),
    {
      content: null,
      tool_calls: [{ id: 'c', function: { name: 'note', arguments: JSON.stringify(args(1)) } }],
    },
    'tool_calls',
  ),
  message(
    'the form before tools',
    calls(1),
    { content: null, function_call: { name: 'note', arguments: args(1) } },
    'function_call',
  ),
  message('a call and the reason stop', calls(1), { content: '', tool_calls: [call(1)] }),
  message(
    'half an emoji in an argument',
    calls('\uFFFD'),
    {
      content: null,
      tool_calls: [{ id: 'c', function: { name: 'note', arguments: '{"x":"\\ud83d","end":true}' } }],
    },
    'tool_calls',
  ),
  message('a content of parts', text('fine'), {
    content: [
      { type: 'text', text: 'fi' },
      { type: 'text', text: 'ne' },
    ],
  }),
  message('thoughts as parts', text('fine'), {
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'fine' },
    ],
  }),
  message('reasoning and text', text('fine'), {
    content: 'fine',
    reasoning: 'hm',
    reasoning_details: [{ type: 'reasoning.text', text: 'hm' }],
  }),
  message('calls that are null', text('fine'), { content: 'fine', tool_calls: null, refusal: null }),
  message('an unknown reason', text('fine'), { content: 'fine' }, 'eos_token'),
  message('the reason in capitals', text('fine'), { content: 'fine' }, 'STOP'),
  message('half an emoji', text('fine \uFFFD'), { content: 'fine \uD83D' }),
  stream('an emoji in two pieces', text('😀 fine'), [
    chunk({ content: '\uD83D' }),
    chunk({ content: '\uDE00 fine' }, 'stop'),
  ]),
  stream('a usage chunk without choices', text('fine'), [
    chunk({ content: 'fine' }, 'stop'),
    { id: 'r', usage: { prompt_tokens: 1, completion_tokens: null } },
  ]),
  stream('a usage chunk with null', text('fine'), [
    chunk({ content: 'fine' }, 'stop'),
    { id: 'r', choices: null, usage: null },
  ]),
  stream('an empty reason in each piece', text('fine'), [
    chunk({ content: 'fi' }, ''),
    chunk({ content: 'ne' }, ''),
    chunk({}, 'stop'),
  ]),
  stream('no [DONE]', text('fine'), [chunk({ content: 'fine' }, 'stop')], ''),
  stream('half a [DONE]', text('fine'), [chunk({ content: 'fine' }, 'stop')], 'data: [DO'),
  wire('a completion in the place of a stream', text('fine'), {
    headers: json,
    body: JSON.stringify(completion({ content: 'fine' }, 'stop')),
  }),
  wire('a line of JSON for each piece', text('fine'), {
    headers: { 'content-type': 'application/x-ndjson' },
    body: [chunk({ content: 'fi' }), chunk({ content: 'ne' }, 'stop')]
      .map((each) => JSON.stringify(each))
      .join('\n'),
  }),
  wire('JSON as text', text('fine'), undefined, {
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(completion({ content: 'fine' }, 'stop')),
  }),
  wire('a slow first byte, and one byte at a time', text('fine'), {
    headers: events,
    body: eventsOf([chunk({ content: 'fine' }, 'stop')], done),
    delayMs: 20,
    writeBytes: 1,
  }),
];

/** The unclean answers of servers with the chat completions interface. */
export const chatDialects: readonly Dialect[] = [...wordless, ...broken, ...readable, ...half, ...repeated];
