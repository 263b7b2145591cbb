import { TokenError } from './token-error.ts';

type Fields = Record<string, unknown>;

/** Types of tokens that are not sent as bearer tokens. Providers name the type of a bearer token as they like. */
const otherTypes = ['mac', 'pop', 'dpop', 'n_a'];

/** An answer of a token endpoint that is written as RFC 6749 §5 does. */
export interface TokenAnswer {
  response: Response;
  idToken: string | undefined;
}

/**
 * Reads an answer of a token endpoint, and writes it as RFC 6749 §5 does. Providers send forms in place of JSON, errors
 * with status 200, tokens one level deeper, no type of the token or a name of their own, and null, empty or listed
 * values. A failure that cannot be read passes unchanged.
 *
 * @throws TokenError `unauthenticated` for a success without a token, and for a token that is no bearer token
 */
export async function readTokenAnswer(
  what: string,
  response: Response,
  withIdToken: boolean,
): Promise<TokenAnswer> {
  const text = await response.text();
  const fields = withTokens(present(parse(text) ?? {}));
  const { access_token: token, error } = fields;
  if (typeof token === 'string') {
    const idToken = withIdToken && typeof fields.id_token === 'string' ? fields.id_token : undefined;
    const grant = { ...grantOf(what, fields, response), ...(idToken !== undefined && { id_token: idToken }) };
    return { response: Response.json(grant), idToken };
  }
  const { status } = response;
  const headers = new Headers(response.headers);
  const code = errorCode(error);
  if (code !== undefined) {
    headers.set('content-type', 'application/json');
    const body = JSON.stringify({ ...fields, error: code });
    // GitHub, Slack and others refuse with status 200.
    return {
      response: new Response(body, { status: response.ok ? 400 : status, headers }),
      idToken: undefined,
    };
  }
  if (!response.ok) return { response: new Response(text, { status, headers }), idToken: undefined };
  const names = Object.keys(fields).filter((name) => /^\w{1,40}$/.test(name));
  throw new TokenError(
    'unauthenticated',
    `the answer of ${hostOf(response)} to ${what} has no access_token; it has ${names.slice(0, 10).join(', ') || 'no fields'}. Check that the token endpoint of the auth scheme is right`,
  );
}

function grantOf(what: string, fields: Fields, response: Response): Fields {
  const {
    token_type: type = 'bearer',
    scope,
    expires_in: life,
    refresh_token,
    id_token: _,
    ...rest
  } = fields;
  if (otherTypes.includes(String(type).toLowerCase()))
    throw new TokenError(
      'unauthenticated',
      `${hostOf(response)} answered ${what} with a token of type ${type}; only bearer tokens can be used. Ask the provider for one`,
    );
  return {
    ...rest,
    token_type: 'bearer',
    ...(scope !== undefined && { scope: Array.isArray(scope) ? scope.join(' ') : String(scope) }),
    // Some say 0 or -1 for a token that does not expire.
    ...(Number(life) > 0 && Number.isFinite(Number(life)) && { expires_in: Number(life) }),
    ...(typeof refresh_token === 'string' && { refresh_token }),
  };
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isObject(value) ? value : undefined;
  } catch {
    const form = new URLSearchParams(text.trim());
    return form.has('access_token') || form.has('error') ? Object.fromEntries(form) : undefined;
  }
}

/** Leaves out what is null or empty: it says nothing. */
function present(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== '' && value !== undefined),
  );
}

/** Takes the tokens from the only object within the answer that has them: `authed_user` of Slack, `data` of others. */
function withTokens(fields: Fields): Fields {
  if (fields.access_token !== undefined) return fields;
  const [inner, another] = Object.values(fields)
    .filter(isObject)
    .filter(({ access_token }) => typeof access_token === 'string' && access_token !== '');
  return inner && !another ? present({ ...fields, ...inner }) : fields;
}

/** Returns the code of an error, also of one that is an object. */
function errorCode(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  if (!isObject(error)) return undefined;
  return String(error.type ?? error.code ?? error.status ?? 'unknown error');
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hostOf = ({ url }: Response): string =>
  URL.canParse(url) ? new URL(url).host : 'the authorization server';
