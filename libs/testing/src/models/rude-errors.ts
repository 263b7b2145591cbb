import { type Dialect, error } from './rude-dialects.ts';

const headers = { 'content-type': 'application/json' };

/** Makes a dialect that answers each request with a status and a body. */
function failure(
  name: string,
  status: number,
  body: unknown,
  words: RegExp,
  more: Record<string, string> = {},
): Dialect {
  const written = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    name,
    reading: error(new RegExp(`^${status}$`), words),
    answer: () => ({ status, headers: { ...headers, ...more }, body: written }),
  };
}

/** The bodies of errors of all providers; none of them is repeated. */
export const errorDialects: readonly Dialect[] = [
  failure(
    'Gemini: a wrong request',
    400,
    { error: { code: 400, message: 'contents is not specified', status: 'INVALID_ARGUMENT' } },
    /^contents is not specified$/,
  ),
  failure(
    'Gemini: a list',
    400,
    [{ error: { code: 400, message: 'bad key', status: 'INVALID_ARGUMENT' } }],
    /^bad key$/,
  ),
  failure(
    'Gemini: the quota of a day',
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota',
        status: 'RESOURCE_EXHAUSTED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
          },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.01s' },
        ],
      },
    },
    /exceeded your current quota/,
  ),
  failure(
    'OpenAI: no money',
    429,
    {
      error: {
        message: 'You exceeded your quota',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        param: null,
      },
    },
    /^You exceeded your quota$/,
  ),
  failure(
    'OpenAI: requests per day',
    429,
    {
      error: {
        message: 'Rate limit reached for m on requests per day (RPD): Limit 200',
        type: 'requests',
        code: 'rate_limit_exceeded',
      },
    },
    /per day/,
  ),
  failure(
    'OpenAI: a wrong key',
    401,
    {
      error: {
        message: 'Incorrect API key provided',
        type: 'invalid_request_error',
        code: 'invalid_api_key',
      },
    },
    /^Incorrect API key/,
  ),
  failure(
    'an Anthropic proxy',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'messages: text content blocks must be non-empty' },
    },
    /^messages: text/,
  ),
  failure('Ollama', 404, { error: 'model "m" not found, try pulling it first' }, /^model "m" not found/),
  failure(
    'vLLM',
    400,
    {
      object: 'error',
      message: 'This model has a maximum context length',
      type: 'BadRequestError',
      code: 400,
    },
    /^This model has a maximum/,
  ),
  failure(
    'FastAPI: details',
    422,
    { detail: [{ loc: ['body'], msg: 'field required', type: 'value_error' }] },
    /field required/,
  ),
  failure('FastAPI: a text', 403, { detail: 'Forbidden key' }, /^Forbidden key$/),
  failure(
    'DeepSeek: no money',
    402,
    { error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' } },
    /^Insufficient Balance$/,
  ),
  failure(
    'OpenRouter: a provider',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"error":{"message":"image too large"}}', provider_name: 'P' },
      },
    },
    /Provider returned error: image too large/,
  ),
  failure('a wait of an hour', 429, { error: { message: 'slow down' } }, /^slow down$/, {
    'retry-after': '3600',
  }),
  failure(
    'a page of a proxy',
    403,
    '<html><head><title>403 Forbidden</title></head><body>nginx</body></html>',
    /^403 Forbidden$/,
    { 'content-type': 'text/html' },
  ),
  failure('no body', 400, '', /./),
  failure('a text with the type of JSON', 400, 'upstream said no', /^upstream said no$/),
];
