import { messageSchema } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Operation } from '../context/operation.ts';
import type { Route } from '../context/route.ts';
import { components, errorAnswer } from './answers.ts';

/** A value of JSON Schema, draft 2020-12, which OpenAPI 3.1 uses. */
export type JsonSchema = Record<string, unknown>;

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: { name: string; in: string; required: boolean; schema: JsonSchema; description?: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, OpenApiResponse>;
  /** The least role of a caller, and of a caller for another user; see the page about access. */
  'x-role': Route['role'];
  'x-role-for-others'?: Route['role'];
  'x-audit'?: string;
}

interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; schema: JsonSchema }>;
  content?: Record<string, { schema: JsonSchema }>;
}

export interface OpenApiDocument {
  openapi: '3.1.1';
  info: { title: string; version: string; summary: string; description: string; license: object };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, object> };
}

const description = `ADK's REST interface in front of a mesh of agents, with additions.

Keys of queries and bodies are accepted in camelCase and in snake_case; unknown keys are refused by name, and so are both spellings of one key. A stream is server-sent events: \`data:\` is an Event as JSON, \`id:\` its number in the session. The last frame of a failed run is an Error.`;

/** Returns the OpenAPI 3.1 document of a gateway with these routes. */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    const path = openApiPath(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, path) };
  }
  const tags = new Set(
    Object.values(paths).flatMap((each) => Object.values(each).flatMap((one) => one.tags)),
  );
  return {
    openapi: '3.1.1',
    info: {
      ...{ title: 'agentmesh gateway', version: '0.1.0', summary: "ADK's REST interface for a mesh" },
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(components).map(([name, each]) => [name, schemaOf(each, { isComponent: true })]),
      ),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'an API key (`amk_…`) or a signed token; not needed with MESH_HTTP_AUTH=none',
        },
      },
    },
  };
}

/** Returns the path of a route in the document: `/apps/:app` → `/apps/{app}`. */
export function openApiPath({ url, about }: Pick<Route, 'url' | 'about'>): string {
  return (about.path ?? url).replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{rest}');
}

function operationOf(route: Route, path: string): OpenApiOperation {
  const { method, url, role, others, audit, about } = route;
  return {
    operationId: idOf(method, path),
    summary: about.summary,
    tags: [tagOf(url)],
    security: role === 'public' ? [] : [{ bearer: [] }],
    parameters: parametersOf(about, path),
    ...(about.body !== undefined && {
      requestBody: {
        required: about.isBodyOptional !== true,
        content:
          about.body === 'bytes'
            ? { '*/*': { schema: {} } }
            : { 'application/json': { schema: schemaOf(about.body) } },
      },
    }),
    responses: responsesOf(route),
    'x-role': role,
    ...(others !== undefined && { 'x-role-for-others': others }),
    ...(audit !== undefined && { 'x-audit': audit }),
  };
}

function idOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9_]+/).filter(Boolean);
  return [method.toLowerCase(), ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))].join('');
}

/** The groups of routes, by a part of their addresses; the first that fits counts. */
const tags: [part: RegExp, tag: string][] = [
  [/^\/mesh\b/, 'the whole mesh'],
  [/^\/(?:dev|debug|config|run_live|api)\b|\/eval_/, 'for developers'],
  [/\/artifacts/, 'artifacts'],
  [/\/memory/, 'memory'],
  [/\/invocations|\/pending|^\/run|\/ag-ui/, 'runs'],
  [/\/sessions/, 'sessions'],
  [/\/users/, 'users'],
];

function tagOf(url: string): string {
  return tags.find(([part]) => part.test(url))?.[1] ?? 'about';
}

function parametersOf({ query = {}, headers = {} }: Operation, path: string) {
  const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true },
    schema: { type: 'string' },
  }));
  const ofQuery = Object.entries(query).map(([name, schema]) => ({
    ...{ name, in: 'query', required: !schema.safeParse(undefined).success },
    schema: numberOf(schemaOf(schema)),
  }));
  const ofHeaders = Object.entries(headers).map(([name, meaning]) => ({
    ...{ name, in: 'header', required: false, description: meaning },
    schema: { type: 'string' },
  }));
  return [...ofPath, ...ofQuery, ...ofHeaders];
}

/** A query holds text alone; where the text must be a whole number, clients write a number. */
function numberOf(schema: JsonSchema): JsonSchema {
  if (schema.pattern !== '^\\d{1,15}$') return schema;
  const { pattern: _pattern, type: _type, ...others } = schema;
  return { type: 'integer', minimum: 0, ...others };
}

function responsesOf({ url, role, about }: Route): OpenApiDocument['paths'][string][string]['responses'] {
  const { answer, status = 200, others = {}, answerHeaders = {} } = about;
  const failed = (meaning: string): OpenApiResponse => ({
    description: meaning,
    content: { 'application/json': { schema: schemaOf(errorAnswer) } },
  });
  const refusals = [
    ...(role === 'public' ? [] : [['400', 'the request is not valid'] as const]),
    ...(role === 'public' ? [] : [['401', 'the credentials are missing or wrong'] as const]),
    ...(role === 'public' ? [] : [['403', 'the caller has no right to do this'] as const]),
    ...(/[:*]/.test(url) || url.startsWith('/run') ? [['404', 'there is no such thing'] as const] : []),
    ...(role === 'public' ? [] : [['429', 'a limit is reached; `Retry-After` has the seconds'] as const]),
  ];
  const headers = Object.fromEntries(
    Object.entries(answerHeaders).map(([name, meaning]) => [
      name,
      { description: meaning, schema: { type: 'string' } },
    ]),
  );
  return {
    ...(answer !== undefined && {
      [status]: {
        description: about.summary,
        ...(Object.keys(headers).length > 0 && { headers }),
        content: contentOf(answer),
      },
    }),
    ...Object.fromEntries(refusals.map(([code, meaning]) => [code, failed(meaning)])),
    ...Object.fromEntries(
      Object.entries(others).map(([code, meaning]) => [
        code,
        Number(code) < 400 ? { description: meaning } : failed(meaning),
      ]),
    ),
    default: failed('another error of the table of errors'),
  };
}

function contentOf(answer: NonNullable<Operation['answer']>): Record<string, { schema: JsonSchema }> {
  if (answer === '*/*') return { '*/*': { schema: {} } };
  if (typeof answer === 'string') return { [answer]: { schema: { type: 'string' } } };
  return { 'application/json': { schema: schemaOf(answer) } };
}

/**
 * Returns the JSON Schema of what is sent: a field with a default may be absent. A schema with a name in `components`
 * is replaced by a reference, unless it is the component to return itself.
 */
function schemaOf(schema: z.ZodType, { isComponent = false } = {}): JsonSchema {
  const { $schema: _version, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema, path }) {
      const isRoot = path.length === 0;
      const name = Object.entries(components).find(([, each]) => Object.is(each, zodSchema))?.[0];
      if (name !== undefined && !(isRoot && isComponent))
        return replace(jsonSchema, { $ref: `#/components/schemas/${name}` });
      if (Object.is(zodSchema, messageSchema)) {
        const content = { $ref: '#/components/schemas/Content' };
        return replace(jsonSchema, {
          anyOf: [{ type: 'string' }, content],
          description: 'a text, or a Content of @google/genai',
        });
      }
      if (zodSchema instanceof z.ZodPipe && zodSchema.def.in instanceof z.ZodTransform)
        return replace(jsonSchema, schemaOf(zodSchema.def.out as z.ZodType));
    },
  });
  return rest;
}

function replace(jsonSchema: JsonSchema, by: JsonSchema): void {
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, by);
}
