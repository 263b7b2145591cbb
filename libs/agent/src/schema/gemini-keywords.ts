import type { Schema } from '@google/genai';
import { Type } from './genai.ts';

/** The keywords of Gemini's schemas: https://ai.google.dev/api/caching#Schema. It refuses all others. */
const keywords: Record<keyof Schema, true> = {
  type: true,
  format: true,
  title: true,
  description: true,
  nullable: true,
  enum: true,
  items: true,
  minItems: true,
  maxItems: true,
  properties: true,
  required: true,
  propertyOrdering: true,
  minProperties: true,
  maxProperties: true,
  minLength: true,
  maxLength: true,
  pattern: true,
  minimum: true,
  maximum: true,
  anyOf: true,
  default: true,
  example: true,
};

/** The formats that Gemini accepts, by type. */
const formats: Partial<Record<string, readonly string[]>> = {
  [Type.STRING]: ['date-time', 'enum'],
  [Type.NUMBER]: ['float', 'double'],
  [Type.INTEGER]: ['int32', 'int64'],
};

/** Adds a sentence in front of the description of a schema that it does not have yet. */
export function note(schema: Schema, words: string): void {
  schema.description = [schema.description, words].filter(Boolean).join(' ');
}

/**
 * Returns a schema with the keywords that Gemini accepts. All else is moved into the descriptions: other keywords,
 * other formats, empty values of an enum, patterns with a look around.
 */
export function fitSchema(source: Schema): Schema {
  const { description, ...given } = source;
  const schema: Schema = {};
  const words: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || key === '$schema') continue;
    const problem = Object.hasOwn(keywords, key)
      ? unfit(source, key, value)
      : `${key}: ${JSON.stringify(value)}.`;
    if (problem === undefined) Object.assign(schema, { [key]: inner(key, value) });
    else words.push(problem);
  }
  if (description) words.push(description);
  if (words.length > 0) schema.description = words.join(' ');
  return schema.anyOf ? alone(schema.anyOf, schema) : schema;
}

/** Returns the words for a keyword whose value Gemini does not accept. */
function unfit({ type }: Schema, key: string, value: unknown): string | undefined {
  if (key === 'format' && !formats[String(type).toUpperCase()]?.includes(String(value)))
    return `Format: ${value}.`;
  if (key === 'enum' && Array.isArray(value) && value.some((each) => each === '' || typeof each !== 'string'))
    return `One of: ${value.map((each) => JSON.stringify(each)).join(', ')}.`;
  // RE2, Google's engine, looks neither ahead nor back, and refers to nothing.
  if (key === 'pattern' && /\(\?(?:[=!]|<[=!])|\\[1-9k]/.test(String(value))) return `Pattern: ${value}`;
  return undefined;
}

function inner(key: string, value: unknown): unknown {
  if (key === 'items') return fitSchema(value as Schema);
  if (key === 'anyOf') return (value as Schema[]).map(fitSchema);
  if (key !== 'properties') return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, fitSchema(each)]));
}

/** Vertex AI takes no keyword beside `anyOf`: each alternative gets what holds for all of them. */
function alone(
  alternatives: readonly Schema[],
  { title, description, nullable, default: usual }: Schema,
): Schema {
  const words = [description, usual === undefined ? '' : `Default: ${JSON.stringify(usual)}.`].filter(
    Boolean,
  );
  return {
    anyOf: alternatives.map((each) => {
      const all = [each.description, ...words].filter(Boolean).join(' ');
      return {
        ...(title && { title }),
        ...each,
        ...(all && { description: all }),
        ...(nullable && { nullable }),
      };
    }),
  };
}
