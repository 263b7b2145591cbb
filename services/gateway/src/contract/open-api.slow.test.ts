import { createLogger } from '@agentmesh/service';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { byProxy } from '../access/by-proxy.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';
import { routes } from '../handlers/index.ts';
import { type OpenApiDocument, openApiDocument, openApiPath } from './open-api.ts';

const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
const config = { runTimeoutMs: 1_000, unreadMs: 1_000, whenAbsent: 'reject', uploadLimit: 1_000 } as const;

/** Makes a gateway without a mesh, and collects the routes that its HTTP server has. */
async function gateway() {
  const server = buildServer(
    { mesh: {} as GatewayContext['mesh'], config, log, stopping: new AbortController().signal },
    {
      ...{ bodyLimit: 10_000, requestTimeoutMs: 1_000, httpHost: '127.0.0.1', allowedHosts: undefined },
      // Readers of the contract need no credentials.
      authenticators: [byProxy({ personHeader: 'x-user', rolesHeader: 'x-roles', defaultRoles: [] })],
    },
  );
  await server.ready();
  return server;
}

async function served(): Promise<OpenApiDocument> {
  const answer = await (await gateway()).inject({ url: '/openapi.json' });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  return answer.json();
}

const operationsOf = ({ paths }: OpenApiDocument) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

describe('the OpenAPI document', () => {
  it('is valid for the schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(JSON.parse(JSON.stringify(await served())));
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    const broken = structuredClone(await served()) as unknown as { paths: Record<string, unknown> };
    broken.paths['/health'] = { get: { responses: { ok: {} } } };
    expect((await new Validator().validate(JSON.parse(JSON.stringify(broken)))).valid).toBe(false);
  });

  it('has each route of the server, and no other', async () => {
    const server = await gateway();
    const document = await served();
    for (const { method, url } of routes)
      expect(server.hasRoute({ method, url }), `${method} ${url}`).toBe(true);
    // Fastify prints wildcards of several addresses as one.
    const printed = server.printRoutes({ commonPrefix: false }).matchAll(/(?<!\*) \(([A-Z, ]+)\)/g);
    const methods = [...printed]
      .flatMap(([, list = '']) => list.split(', '))
      .filter((each) => each !== 'HEAD');
    expect(methods).toHaveLength(routes.filter(({ url }) => !url.endsWith('*')).length);
    const expected = routes.map((route) => `${route.method.toLowerCase()} ${openApiPath(route)}`);
    expect(
      operationsOf(document)
        .map(({ path, method }) => `${method} ${path}`)
        .toSorted(),
    ).toEqual(expected.toSorted());
  });

  it('says the role, the statuses and the body of each route', async () => {
    const { paths } = await served();
    for (const route of routes) {
      const { method, role, others, audit, about, url } = route;
      const operation = paths[openApiPath(route)]?.[method.toLowerCase()];
      expect(operation, url).toMatchObject({
        'x-role': role,
        ...(others && { 'x-role-for-others': others }),
        ...(audit && { 'x-audit': audit }),
        security: role === 'public' ? [] : [{ bearer: [] }],
      });
      const statuses = Object.keys(operation?.responses ?? {});
      expect(statuses).toContain('default');
      if (about.answer) expect(statuses).toContain(String(about.status ?? 200));
      if (role !== 'public') expect(statuses).toEqual(expect.arrayContaining(['400', '401', '403', '429']));
      expect(operation?.requestBody !== undefined, `${method} ${url}`).toBe(about.body !== undefined);
    }
  });

  it('has one id for each operation, and a parameter for each part of a path', async () => {
    const operations = operationsOf(await served());
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const named = operation.parameters.filter((each) => each.in === 'path').map(({ name }) => name);
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it('refers to schemas that it has, and has those that somebody refers to', async () => {
    const document = await served();
    const referred = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    const names = new Set(referred.map(([, name]) => name));
    expect([...names].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
    expect(JSON.stringify(document)).not.toContain('#/$defs');
  });

  it('shows the fields of a run', () => {
    const { paths, components } = openApiDocument(routes);
    expect(paths['/run_sse']?.post?.requestBody?.content['application/json']?.schema).toMatchObject({
      required: ['appName', 'userId', 'sessionId', 'newMessage'],
      properties: {
        newMessage: { $ref: '#/components/schemas/Message' },
        whenBusy: { enum: ['enqueue', 'reject', 'interrupt'], default: 'enqueue' },
      },
    });
    expect(components.schemas.Message).toMatchObject({
      anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/Content' }],
    });
    expect(paths['/apps/{app}/users/{user}/sessions']?.get?.parameters).toContainEqual(
      expect.objectContaining({ name: 'offset', schema: expect.objectContaining({ type: 'integer' }) }),
    );
  });
});

describe('the page of the documentation', () => {
  it('loads its parts from the gateway alone', async () => {
    const server = await gateway();
    const page = await server.inject({ url: '/docs' });
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*connect-src 'self'/);
    expect(page.payload).not.toMatch(/https?:/);
    const parts = [...page.payload.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, part = '']) => part);
    expect(parts).toHaveLength(4);
    for (const url of parts) {
      const { statusCode, rawPayload } = await server.inject({ url });
      expect([url, statusCode]).toEqual([url, 200]);
      expect(rawPayload.length).toBeGreaterThan(100);
    }
  });

  it('serves no other file of the package', async () => {
    const server = await gateway();
    for (const url of ['/docs/swagger-ui.js', '/docs/..%2fpackage.json', '/docs/index.html'])
      expect((await server.inject({ url })).statusCode, url).toBe(404);
  });
});
