import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePort } from '../processes/free-port.ts';
import { until } from '../processes/wait.ts';
import type { RawAnswer } from './token-dialects.fixture.ts';

/** A request to the token endpoint, with the status of its answer. */
export interface TokenRequest {
  grantType: string;
  code: string | undefined;
  /** The HTTP status. */
  status: number;
}

export interface SignInServerOptions {
  /** The life of an access token, in seconds; default an hour. */
  tokenSeconds?: number;
}

/** A real authorization server on this machine, for one client and any user. */
export interface SignInServer {
  /** The issuer; its endpoints are at `/auth`, `/token` and `/me`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly tokenRequests: TokenRequest[];
  /**
   * Signs a user in and consents, as a browser does. Returns the address to which the browser is redirected.
   */
  signIn(authUri: string, user?: string): Promise<string>;
  /** The fate of the token endpoint's answers; the requests take effect in each case. Default `send`. */
  answers: 'send' | 'drop' | 'hold';
  /** Rewrites the token endpoint's answers, as other providers would write them. */
  dialect: ((fields: Record<string, unknown>) => RawAnswer) | undefined;
  /** Rewrites the discovery document. */
  discovery: ((document: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Stops listening. Keeps all its data until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** Starts an OpenID provider with PKCE, refresh tokens for single use, and client credentials. */
export async function startSignInServer({
  tokenSeconds = 3600,
}: SignInServerOptions = {}): Promise<SignInServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const client = { clientId: 'calendar-app', clientSecret: `client-secret-${randomUUID()}` };
  const redirectUri = 'http://localhost/callback';
  const provider = new Provider(url, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      },
    ],
    scopes: ['openid', 'offline_access', 'calendar'],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: true } },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: tokenSeconds,
      ClientCredentials: tokenSeconds,
      Grant: 86_400,
      RefreshToken: 86_400,
      IdToken: 3600,
      Session: 3600,
      Interaction: 3600,
    },
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomUUID()] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  });
  const held = new AbortController();
  const server: SignInServer = {
    ...client,
    url,
    redirectUri,
    tokenRequests: [],
    answers: 'send',
    dialect: undefined,
    discovery: undefined,
    signIn: (authUri, user = 'ann') => browse(authUri, user, redirectUri),
    async down() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
      // This process notices a little later that its open connections to the server are closed.
      await until(() => isRefused(url), { what: 'the authorization server to be gone' });
    },
    async up() {
      http = await listen(provider, port);
    },
    async close() {
      held.abort();
      if (http.listening) await server.down();
    },
  };
  provider.use(async (context, next) => {
    await next();
    if (context.oidc?.route === 'discovery' && server.discovery)
      context.body = server.discovery(context.body as Record<string, unknown>);
    if (context.oidc?.route !== 'token') return;
    const { grant_type: grantType, code } = (context.oidc.params ?? {}) as Record<string, string>;
    server.tokenRequests.push({ grantType: grantType ?? '', code, status: context.status });
    if (server.dialect && context.status === 200) {
      const { status, type, body } = server.dialect(context.body as Record<string, unknown>);
      Object.assign(context, { status, body });
      context.set('content-type', type);
    }
    if (server.answers === 'drop') context.req.socket.destroy();
    if (server.answers === 'hold' && !held.signal.aborted) await once(held.signal, 'abort');
  });
  let http = await listen(provider, port);
  return server;
}

async function listen(provider: Provider, port: number): Promise<Server> {
  const http = provider.listen(port, '127.0.0.1');
  await once(http, 'listening');
  return http;
}

async function isRefused(url: string): Promise<boolean> {
  const failure = await fetch(url).catch((error: Error) => error.cause);
  return Reflect.get(Object(failure), 'code') === 'ECONNREFUSED';
}

function signingKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'k1' };
}

/** Follows the redirects with their cookies, and sends the forms of the login and of the consent. */
async function browse(authUri: string, user: string, redirectUri: string): Promise<string> {
  const cookies = new Map<string, string>();
  let form: Record<string, string> | undefined;
  for (let address = authUri, step = 0; step < 20; step += 1) {
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    form = undefined;
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      address = new URL(location, address).href;
      if (address.startsWith(redirectUri)) return address;
      continue;
    }
    const page = await response.text();
    const [, prompt] = /name="prompt" value="(login|consent)"/.exec(page) ?? [];
    if (prompt === undefined) throw new Error(`the sign-in got stuck (${response.status}): ${page}`);
    form = prompt === 'login' ? { prompt, login: user, password: 'any' } : { prompt };
  }
  throw new Error('the sign-in has too many redirects');
}
