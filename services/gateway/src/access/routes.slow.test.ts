import { subjects } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { describe, expect, it } from 'vitest';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';
import { type Role, roles } from '../context/role.ts';
import type { Route } from '../context/route.ts';
import { routes } from '../handlers/index.ts';
import { byProxy } from './by-proxy.ts';

const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
const config = { runTimeoutMs: 1_000, unreadMs: 1_000, whenAbsent: 'reject', uploadLimit: 1_000 } as const;

/** A mesh that takes audit records, and nothing else. */
const bus = { service: 'gateway', replica: 'gateway-1', enqueue: async () => {} };
const mesh = { log, bus, subjects: subjects() } as unknown as GatewayContext['mesh'];

/** A gateway without a mesh: a request that is admitted meets a defect, or a body that is not valid. */
const server = buildServer(
  { mesh, config, log, stopping: new AbortController().signal },
  {
    ...{ bodyLimit: 10_000, requestTimeoutMs: 1_000, httpHost: '127.0.0.1', allowedHosts: undefined },
    authenticators: [byProxy({ personHeader: 'x-user', rolesHeader: 'x-roles', defaultRoles: [] })],
  },
);

/** The routes that anybody may use. A further one is a decision: it is open to the whole internet. */
const publicRoutes = [
  ...['GET /health', 'GET /version'],
  ...['GET /openapi.json', 'GET /docs', 'GET /docs/:file', 'GET /console', 'GET /console/:file'],
];

const nameOf = ({ method, url }: Pick<Route, 'method' | 'url'>) => `${method} ${url}`;
const isOfUser = ({ url }: Route) => url.includes(':user') || isRun({ url });
const isRun = ({ url }: Pick<Route, 'url'>) => url === '/run' || url === '/run_sse';
const rank = (role: Role) => roles.indexOf(role);

/** Sends a request to a route for the user ann of the app shop, and tells how it was judged. */
async function judge(route: Route, caller?: { user: string; roles: string[] }) {
  const url = route.url
    .replace(':app', 'shop')
    .replace(':user', 'ann')
    .replace('*', 'x/y')
    .replaceAll(/:\w+/g, '1');
  const message = { parts: [{ text: 'hello' }] };
  const body = isRun(route)
    ? { appName: 'shop', userId: 'ann', sessionId: '1', newMessage: message }
    : undefined;
  const { statusCode, headers, json } = await server.inject({
    ...{ method: route.method, url },
    headers: caller ? { 'x-user': caller.user, 'x-roles': caller.roles.join(',') } : {},
    ...(body && { payload: body }),
  });
  if (statusCode !== 401 && statusCode !== 403) return 'admitted';
  return { statusCode, challenge: headers['www-authenticate'], details: json().details };
}

describe.each(routes.map((route) => [nameOf(route), route] as const))('%s', (_name, route) => {
  const { role, others = 'operator' } = route;

  it('lets in nobody without credentials, unless it is for everyone', async () => {
    const judged = await judge(route);
    if (role === 'public') expect(judged).toBe('admitted');
    else expect(judged).toMatchObject({ statusCode: 401, challenge: 'Bearer realm="agentmesh"' });
  });

  it.each(roles)('lets in a caller with the role %s as the table says', async (held) => {
    const needed = role === 'public' ? 'user' : role;
    const own = await judge(route, { user: 'ann', roles: [`shop:${held}`] });
    if (rank(held) >= rank(needed)) expect(own).toBe('admitted');
    else expect(own).toMatchObject({ statusCode: 403, details: { role: needed } });
    const other = await judge(route, { user: 'eve', roles: [held] });
    const neededForOthers = isOfUser(route) && rank(others) > rank(needed) ? others : needed;
    if (rank(held) >= rank(neededForOthers)) expect(other).toBe('admitted');
    else expect(other).toMatchObject({ statusCode: 403, details: { role: neededForOthers } });
  });

  it.each(roles)('does not take the role %s of another app, or a word that resembles it', async (held) => {
    const isOfApp = route.url.includes(':app') || isRun(route);
    if (role === 'public' || !isOfApp) return;
    const lists = [[`other:${held}`], [`shop:${held}x`], [held.toUpperCase()], ['manager'], []];
    for (const list of lists)
      expect(await judge(route, { user: 'ann', roles: list })).toMatchObject({ statusCode: 403 });
  });
});

describe('the table of routes', () => {
  it('has no routes for everyone but these', () => {
    expect(routes.filter(({ role }) => role === 'public').map(nameOf)).toEqual(publicRoutes);
  });

  it('names the app and the user of a path as the check of access reads them', () => {
    const wrong = routes.filter(({ url }) => /\/apps\/(?!:app\b)|\/users\/(?!:user\b)/.test(url));
    expect(wrong.map(nameOf)).toEqual([]);
  });

  it('is checked for HEAD too, which every GET has', async () => {
    for (const { url } of routes.filter(({ method, role }) => method === 'GET' && role !== 'public')) {
      const { statusCode } = await server.inject({ method: 'HEAD', url: url.replaceAll(/:\w+|\*/g, '1') });
      expect([url, statusCode]).toEqual([url, 401]);
    }
  });
});

describe('a run in the session of another user', () => {
  const answer = { functionResponse: { id: 'c', name: 'adk_request_confirmation', response: {} } };
  const send = async (held: string, newMessage: unknown, more: object = {}) => {
    const payload = { appName: 'shop', userId: 'ann', sessionId: '1', newMessage, ...more };
    const headers = { 'x-user': 'eve', 'x-roles': held };
    return (await server.inject({ method: 'POST', url: '/run', headers, payload })).statusCode;
  };

  it('may be an answer of an approver, and nothing else', async () => {
    expect(await send('approver', { parts: [answer] })).toBe(500);
    expect(await send('user', { parts: [answer] })).toBe(403);
    expect(await send('other:approver', { parts: [answer] })).toBe(403);
    const result = { functionResponse: { ...answer.functionResponse, name: 'pay' } };
    const unnamed = { functionResponse: { id: 'c', response: {} } };
    for (const parts of [
      [answer, { text: 'hi' }],
      [{ ...answer, text: 'hi' }],
      [result],
      [unnamed],
      [answer, result],
    ])
      expect(await send('approver', { parts })).toBe(403);
    for (const more of [{ stateDelta: { a: 1 } }, { client: { tools: [{ name: 'pick' }] } }])
      expect(await send('approver', { parts: [answer] }, more)).toBe(403);
    expect(await send('operator', { parts: [{ text: 'hi' }] })).toBe(500);
  });
});
