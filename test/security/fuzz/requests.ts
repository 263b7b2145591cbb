import type { JsonSchema, OpenApiDocument } from '@agentmesh/gateway/open-api';
import type { Random } from '@agentmesh/testing';

/** A request as it is sent: nothing in it is checked or changed. */
export interface FuzzedRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

/** Values that code often forgets. */
const odd: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    2 ** 53 + 2,
    '',
    ' ',
    '\0',
    '..',
    '../../etc/passwd',
    '*',
    '>',
    '.',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'a.b',
    'a b',
    'é\u0301',
    '💥',
    '\ud800',
    'x'.repeat(3_000),
    '%00',
    '%zz',
  ],
  ...[
    [],
    [[]],
    {},
    { ['__proto__']: { admin: true } },
    { length: -1 },
    ['a', null, 1],
    { a: { b: { c: [] } } },
  ],
];
const oddNames = ['__proto__', 'constructor', 'x', '', 'user_id', 'userId', 'sessionn', '*'];

/** Bodies that are no JSON, or JSON that no schema expects. */
const oddBodies: readonly (string | Buffer)[] = [
  ...['', '{', 'null', '[]', '"text"', '0', '{"a":1,"a":2}', '{"a":NaN}', '\ufeff{}', 'a=1&b=2'],
  ...['['.repeat(20_000), '{"a":'.repeat(5_000), Buffer.from([0xff, 0xfe, 0x22, 0xc3, 0x28])],
  JSON.stringify({ newMessage: { parts: Array.from({ length: 2_000 }, () => ({ text: 'x' })) } }),
];
const types = [
  ...['application/json', 'application/json; charset=utf-8', 'application/json;charset=x', 'text/plain'],
  ...['', 'multipart/form-data', 'application/x-www-form-urlencoded', '/', 'application/problem+json'],
];

/** Makes requests from the document of a gateway: right ones, and such with anything wrong. */
export function fuzzer(document: OpenApiDocument, random: Random, known: Record<string, string>) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const oddText = () => {
    const value = random.pick(odd);
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const encoded = (text: string) =>
    random.chance(0.05) ? '%zz' : encodeURIComponent(text.isWellFormed() ? text : text.toWellFormed());

  function pathOf(path: string): string {
    return path.replaceAll(/\{(\w+)\}/g, (_, part: string) =>
      encoded(random.chance(0.7) && known[part] !== undefined ? known[part] : oddText()),
    );
  }

  function queryOf(names: readonly string[]): string {
    const count = random.integer(0, 3);
    const pairs = Array.from({ length: count }, () => {
      const name = random.chance(0.7) && names.length > 0 ? random.pick(names) : random.pick(oddNames);
      return `${encoded(name)}=${random.chance(0.5) ? random.integer(-1, 9) : encoded(oddText())}`;
    });
    return count === 0 ? '' : `?${pairs.join('&')}`;
  }

  function resolved(schema: JsonSchema): JsonSchema {
    const { $ref: ref } = schema;
    if (typeof ref !== 'string') return schema;
    return document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {};
  }

  /** Makes a value of a schema; now and then anything else. */
  function sampleOf(given: JsonSchema, depth = 0): unknown {
    if (random.chance(0.12) || depth > 6) return random.pick(odd);
    const schema = resolved(given);
    const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
    if (choices) return sampleOf(random.pick(choices), depth + 1);
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum)) return random.pick(schema.enum);
    switch (schema.type) {
      case 'object':
        return objectOf(schema, depth);
      case 'array':
        return Array.from({ length: random.integer(0, 3) }, () =>
          sampleOf((schema.items as JsonSchema | undefined) ?? {}, depth + 1),
        );
      case 'integer':
      case 'number':
        return random.integer(-2, 20);
      case 'boolean':
        return random.chance(0.5);
      case 'string':
        return random.chance(0.6) ? 'What is the price of GOOG?' : oddText();
      default:
        return random.pick(odd);
    }
  }

  function objectOf({ properties = {}, required = [] }: JsonSchema, depth: number): unknown {
    const entries = Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, schema]) => {
      const isWanted = (required as string[]).includes(name) ? random.chance(0.95) : random.chance(0.4);
      const right = knownValue(name);
      return isWanted ? [[name, right ?? sampleOf(schema, depth + 1)] as const] : [];
    });
    const more = random.chance(0.1) ? [[random.pick(oddNames), random.pick(odd)] as const] : [];
    return Object.fromEntries([...entries, ...more]);
  }

  function knownValue(name: string): string | undefined {
    const names: Record<string, string | undefined> = {
      ...{ appName: known.app, userId: known.user, sessionId: known.session },
    };
    return random.chance(0.8) ? names[name] : undefined;
  }

  return (): FuzzedRequest => {
    const { path, method, operation } = random.pick(operations);
    const { parameters, requestBody } = operation;
    const queryNames = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
    const headers: Record<string, string> = {};
    if (random.chance(0.1)) headers['last-event-id'] = encodeURIComponent(oddText().toWellFormed());
    if (random.chance(0.05)) headers.traceparent = encodeURIComponent(oddText().toWellFormed());
    if (random.chance(0.05)) headers.accept = 'x'.repeat(random.integer(0, 2_000));
    const request: FuzzedRequest = {
      method: random.chance(0.05)
        ? random.pick(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'BREW'])
        : method,
      path: `${pathOf(path)}${queryOf(queryNames)}`,
      headers,
    };
    if (!requestBody && !random.chance(0.1)) return request;
    const [, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    const body = random.chance(0.2)
      ? random.pick(oddBodies)
      : JSON.stringify(sampleOf(content?.schema ?? {})).toWellFormed();
    headers['content-type'] = random.chance(0.9) ? 'application/json' : random.pick(types);
    return { ...request, body: Buffer.from(body) };
  };
}
