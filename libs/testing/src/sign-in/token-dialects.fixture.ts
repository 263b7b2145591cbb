/** An answer of a token endpoint. */
export interface RawAnswer {
  status: number;
  type: string;
  body: string;
}

type Fields = Record<string, unknown>;

const json = (fields: Fields, status = 200): RawAnswer => ({
  status,
  type: 'application/json',
  body: JSON.stringify(fields),
});
const form = (fields: Fields): RawAnswer => ({
  status: 200,
  type: 'application/x-www-form-urlencoded',
  body: new URLSearchParams(
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])),
  ).toString(),
});
const without = (fields: Fields, name: string): Fields => {
  const { [name]: _, ...rest } = fields;
  return rest;
};

/** The forms in which providers send tokens, made from a correct answer. */
export const tokenDialects = {
  'no type, as Shopify and LinkedIn': (fields) => json(without(fields, 'token_type')),
  'the type bot, as Slack': (fields) => json({ ok: true, ...fields, token_type: 'bot' }),
  'the type null': (fields) => json({ ...fields, token_type: null }),
  'null and empty values': (fields) =>
    json({ ...fields, scope: null, error: null, error_description: '', id_token: null }),
  'a list of scopes': (fields) => json({ ...fields, scope: ['calendar', 'mail'] }),
  'status 201': (fields) => json(fields, 201),
  'a form, as GitHub': form,
  'a form that says it is text': (fields) => ({ ...form(fields), type: 'text/plain' }),
  'JSON that says it is HTML': (fields) => ({ ...json(fields), type: 'text/html; charset=utf-8' }),
  'a byte order mark': (fields) => ({ ...json(fields), body: `\uFEFF${JSON.stringify(fields)}` }),
  'a life in words of digits': (fields) => json({ ...fields, expires_in: String(fields.expires_in) }),
  'tokens within authed_user, as Slack': (fields) =>
    json({ ok: true, authed_user: { ...fields, token_type: 'user' } }),
  'tokens within data': (fields) => json({ code: 0, message: 'success', data: fields }),
} satisfies Record<string, (fields: Fields) => RawAnswer>;

/** The forms in which providers refuse, with the words that the error should have. */
export const refusalDialects: Record<string, { answer: RawAnswer; says: string }> = {
  'status 200, as GitHub': {
    answer: json({ error: 'bad_verification_code', error_description: 'The code is incorrect or expired.' }),
    says: 'bad_verification_code',
  },
  'a form with status 200': {
    answer: form({ error: 'bad_verification_code' }),
    says: 'bad_verification_code',
  },
  'ok: false, as Slack': { answer: json({ ok: false, error: 'invalid_code' }), says: 'invalid_code' },
  'an object, as Facebook': {
    answer: json({ error: { message: 'expired', type: 'OAuthException', code: 100 } }, 400),
    says: 'OAuthException',
  },
  'no token': { answer: json({ ok: true, shop: 'x' }), says: 'has no access_token; it has ok, shop' },
  'a page': {
    answer: { status: 200, type: 'text/html', body: '<h1>Sign in</h1>' },
    says: 'has no access_token; it has no fields',
  },
  'a token of another type': {
    answer: json({ access_token: 't', token_type: 'mac' }),
    says: 'a token of type mac; only bearer tokens',
  },
};

/** The answers of servers that cannot answer now: the code or the refresh token is still good. */
export const busyDialects: Record<string, RawAnswer> = {
  'status 429': { status: 429, type: 'text/plain', body: 'slow down' },
  'status 429 with a code of its own': json({ error: 'rate_limit_exceeded' }, 429),
  'status 408': { status: 408, type: 'text/plain', body: '' },
  'temporarily_unavailable with status 400': json({ error: 'temporarily_unavailable' }, 400),
  'server_error with status 200': json({ error: 'server_error' }),
  'a page with status 503': { status: 503, type: 'text/html', body: '<h1>Sorry</h1>' },
};
