import { isIP } from 'node:net';
import { integer, variable } from '@agentmesh/service';
import { z } from 'zod';

/** The ways of authentication that `MESH_HTTP_AUTH` may name. */
export const waysOfAuth = ['none', 'proxy', 'keys', 'oidc'] as const;
export type WayOfAuth = (typeof waysOfAuth)[number];

/** The algorithms of signatures by which a token may be signed: asymmetric ones, so no secret is shared. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header: letters, digits and -')
  .transform((name) => name.toLowerCase()) as z.ZodType<string, string>;

/** The variables that say who may use the REST interface. */
export const accessConfig = {
  auth: variable(
    'MESH_HTTP_AUTH',
    'ways of authentication, with commas between them: none (only when this machine alone reaches the gateway), proxy, keys, oidc; see docs/access.md',
    listOf(waysOfAuth),
    { default: 'none' },
  ),
  defaultRoles: variable(
    'MESH_HTTP_DEFAULT_ROLES',
    'roles of every person whom a proxy or a token names, besides the roles that these name, with commas between them; -: no roles',
    z.string().transform((text) => (text.trim() === '-' ? [] : split(text))) as z.ZodType<string[], string>,
    { default: 'user' },
  ),
  trustProxy: variable(
    'MESH_HTTP_TRUST_PROXY',
    'addresses of the proxies whose X-Forwarded-For names the address of a caller, as CIDR, with commas between them; default none',
    z.string().refine(isProxies, 'must be a list of addresses such as 10.0.0.0/8, fd00::/8') as z.ZodType<
      string,
      string
    >,
    { optional: true },
  ),
  personHeader: variable(
    'MESH_HTTP_PERSON_HEADER',
    'with MESH_HTTP_AUTH=proxy: header in which the proxy before the gateway names the person who sends a request; the proxy must remove it from requests of clients',
    headerName,
    { optional: true },
  ),
  rolesHeader: variable(
    'MESH_HTTP_ROLES_HEADER',
    'with MESH_HTTP_AUTH=proxy: header in which the same proxy lists the roles of this person, with commas between them',
    headerName,
    { optional: true },
  ),
  oidcIssuer: variable(
    'MESH_OIDC_ISSUER',
    'with MESH_HTTP_AUTH=oidc: issuer of the tokens, as their claim iss has it',
    z.string(),
    { optional: true },
  ),
  oidcAudience: variable(
    'MESH_OIDC_AUDIENCE',
    'audience that a token must name in its claim aud',
    z.string(),
    { optional: true },
  ),
  oidcJwksUrl: variable(
    'MESH_OIDC_JWKS_URL',
    'address of the public keys of the issuer (JWKS); https, or http on this machine',
    z.string().refine(isJwksUrl, 'must be an https address, or an http address of this machine') as z.ZodType<
      string,
      string
    >,
    { optional: true },
  ),
  oidcAlgorithms: variable(
    'MESH_OIDC_ALGORITHMS',
    `algorithms with which tokens may be signed, with commas between them, of ${algorithms.join(', ')}`,
    listOf(algorithms),
    { default: 'RS256' },
  ),
  oidcUserClaim: variable(
    'MESH_OIDC_USER_CLAIM',
    'claim with the user; a.b: the field b of the claim a',
    z.string(),
    { default: 'sub' },
  ),
  oidcRolesClaim: variable(
    'MESH_OIDC_ROLES_CLAIM',
    'claim with the roles, a list or a text with spaces; a.b: the field b of the claim a',
    z.string(),
    { default: 'roles' },
  ),
  oidcCooldownMs: variable(
    'MESH_OIDC_COOLDOWN_MS',
    'shortest time between two requests for the public keys when tokens name a key that is not known, in ms',
    integer(0, 3_600_000),
    { default: '5000' },
  ),
};

function split(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function listOf<const W extends string>(words: readonly W[]): z.ZodType<W[], string> {
  const message = `must be a list of ${words.join(', ')}`;
  return z.string().transform((text, context) => {
    const parts = split(text);
    const found = words.filter((word) => parts.includes(word));
    if (parts.length > 0 && parts.every((part) => found.some((word) => word === part))) return found;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

function isProxies(text: string): boolean {
  return split(text).every((each) => {
    const [address = '', bits, ...more] = each.split('/');
    const most = { 4: 32, 6: 128 }[isIP(address)];
    const isRange = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (most ?? 0));
    return most !== undefined && more.length === 0 && isRange;
  });
}

function isJwksUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname));
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
