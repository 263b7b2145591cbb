type Fields = Record<string, unknown>;

const types = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'];
const keywords = [
  ...[
    'type',
    'format',
    'title',
    'description',
    'nullable',
    'enum',
    'items',
    'minItems',
    'maxItems',
    'properties',
  ],
  ...['required', 'propertyOrdering', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern'],
  ...['minimum', 'maximum', 'anyOf', 'default', 'example'],
];
const formats: Record<string, string[]> = {
  STRING: ['date-time', 'enum'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

/**
 * Returns why Gemini, or Gemini on Vertex AI, refuses a schema; undefined when both take it. The rules are those of
 * their error messages in public reports.
 */
export function schemaProblem(schema: unknown, path = 'schema'): string | undefined {
  const fields = schema as Fields;
  const unknown = Object.keys(fields).find((key) => !keywords.includes(key));
  if (unknown !== undefined) return `Unknown name "${unknown}" at '${path}'`;
  const { anyOf, items, properties = {} } = fields;
  if (anyOf !== undefined) {
    if (Object.keys(fields).length > 1) return `${path}: any_of must be the only field set`;
    return firstProblem((anyOf as unknown[]).map((each, at) => [each, `${path}.anyOf[${at}]`]));
  }
  const problem = valueProblem(fields) ?? shapeProblem(fields);
  if (problem !== undefined) return `${path}.${problem}`;
  return firstProblem([
    ...(items === undefined ? [] : [[items, `${path}.items`] as const]),
    ...Object.entries(properties as Fields).map(([key, each]) => [each, `${path}.${key}`] as const),
  ]);
}

function valueProblem({ type, format, enum: values, pattern }: Fields): string | undefined {
  if (!types.includes(String(type))) return 'type: must be specified';
  if (format !== undefined && !formats[String(type)]?.includes(String(format)))
    return "format: only 'enum' and 'date-time' are supported for STRING type";
  if (values !== undefined && type !== 'STRING') return 'enum: only allowed for STRING type';
  if (Array.isArray(values) && values.some((each) => each === '' || typeof each !== 'string'))
    return 'enum[0]: cannot be empty';
  return /\(\?(?:[=!]|<[=!])/.test(String(pattern ?? '')) ? 'pattern: invalid' : undefined;
}

function shapeProblem({ type, items, properties, required }: Fields): string | undefined {
  const named = (properties as Fields | undefined) ?? {};
  if (type === 'ARRAY' && items === undefined) return 'items: missing field';
  if (type === 'OBJECT' && Object.keys(named).length === 0)
    return 'properties: should be non-empty for OBJECT type';
  const missing = ((required as string[] | undefined) ?? []).find((key) => !Object.hasOwn(named, key));
  return missing === undefined ? undefined : `required: property ${missing} is not defined`;
}

function firstProblem(schemas: readonly (readonly [unknown, string])[]): string | undefined {
  for (const [schema, path] of schemas) {
    const problem = schemaProblem(schema, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
