import type { Contract, JsonSchema } from './contract.ts';

/**
 * Returns a sentence for each change of the contract that breaks a program in another language: a name that is
 * gone, a field that is gone, required or narrower, and, in what programs read, a field that may be absent or
 * of another type now.
 */
export function breakingChanges(before: Contract, after: Contract): string[] {
  const lists = (['subjects', 'headers', 'frames', 'errorCodes'] as const).flatMap((list) =>
    before[list].filter((name) => !after[list].includes(name)).map((name) => `${list}: ${name} is gone`),
  );
  const ofBodies = Object.entries(before.bodies).flatMap(([name, { schema, programs }]) => {
    const now = after.bodies[name]?.schema;
    return now ? changesIn(schema, now, name, programs === 'read') : [`body ${name} is gone`];
  });
  return [...lists, ...ofBodies];
}

const asSchema = (value: unknown): JsonSchema =>
  typeof value === 'object' && value !== null ? (value as JsonSchema) : {};
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function changesIn(before: JsonSchema, after: JsonSchema, path: string, isRead: boolean): string[] {
  return [
    ...typeChanges(before, after, path, isRead),
    ...valueChanges(before, after, path),
    ...limitChanges(before, after, path),
    ...fieldChanges(before, after, path, isRead),
    ...choiceChanges(before, after, path, isRead),
    ...['items', 'additionalProperties'].flatMap((key) =>
      key in before && before[key] !== false && after[key] !== false
        ? changesIn(
            asSchema(before[key]),
            asSchema(after[key]),
            `${path}.${key === 'items' ? '[]' : '*'}`,
            isRead,
          )
        : [],
    ),
  ];
}

function typeChanges(before: JsonSchema, after: JsonSchema, path: string, isRead: boolean): string[] {
  const [old, now] = [typesOf(before), typesOf(after)];
  const isNarrower = now !== undefined && (old === undefined || old.some((type) => !allows(now, type)));
  const isWider =
    isRead && old !== undefined && (now === undefined || now.some((type) => !allows(old, type)));
  const words = `was ${old?.join(' or ') ?? 'anything'} and is ${now?.join(' or ') ?? 'anything'}`;
  return isNarrower || isWider ? [`${path} ${words}`] : [];
}

/** Returns the types of a schema; undefined for any type, and for a choice between schemas. */
function typesOf({ type, anyOf, oneOf }: JsonSchema): unknown[] | undefined {
  if (type === undefined || anyOf || oneOf) return undefined;
  return Array.isArray(type) ? type : [type];
}

function allows(types: readonly unknown[], type: unknown): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

function valueChanges(before: JsonSchema, after: JsonSchema, path: string): string[] {
  const valuesOf = ({ enum: values, const: only }: JsonSchema) =>
    only === undefined ? (values as unknown[] | undefined) : [only];
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (!now) return [];
  if (!old) return [`${path} allows only ${now.join(', ')} now`];
  return old.filter((value) => !now.includes(value)).map((value) => `${path} no longer allows ${value}`);
}

const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

function limitChanges(before: JsonSchema, after: JsonSchema, path: string): string[] {
  const isTighter = (key: string, sign: number) =>
    typeof after[key] === 'number' &&
    (typeof before[key] !== 'number' || sign * Number(after[key]) > sign * Number(before[key]));
  const limits = [
    ...lowest.filter((key) => isTighter(key, 1)),
    ...highest.filter((key) => isTighter(key, -1)),
    ...['pattern', 'format'].filter((key) => after[key] !== undefined && after[key] !== before[key]),
  ];
  return limits.map((key) => `${path} has a narrower ${key}: ${after[key]}`);
}

function fieldChanges(before: JsonSchema, after: JsonSchema, path: string, isRead: boolean): string[] {
  const [old, now] = [asSchema(before.properties), asSchema(after.properties)];
  const [wasRequired, isRequired] = [asList(before.required), asList(after.required)];
  const isClosed = after.additionalProperties === false && before.additionalProperties !== false;
  return [
    ...(isClosed && before.properties ? [`${path} refuses further fields now`] : []),
    ...Object.keys(old).flatMap((field) =>
      field in now
        ? changesIn(asSchema(old[field]), asSchema(now[field]), `${path}.${field}`, isRead)
        : [`${path}.${field} is gone`],
    ),
    ...(isRead ? [] : isRequired.filter((field) => !wasRequired.includes(field))).map(
      (field) => `${path}.${field} is required now`,
    ),
    ...(isRead ? wasRequired.filter((field) => !isRequired.includes(field)) : []).map(
      (field) => `${path}.${field} may be absent now`,
    ),
  ];
}

/** Each alternative of a choice must still be there, and a schema without a choice must fit one of them. */
function choiceChanges(before: JsonSchema, after: JsonSchema, path: string, isRead: boolean): string[] {
  const choicesOf = ({ anyOf, oneOf }: JsonSchema) => asList(anyOf ?? oneOf).map(asSchema);
  const [old, now] = [choicesOf(before), choicesOf(after)];
  if (now.length === 0)
    return old.length === 0 || typesOf(after) === undefined ? [] : [`${path} has no choice now`];
  const wanted = old.length > 0 ? old : [before];
  const fits = (each: JsonSchema) => now.some((choice) => changesIn(each, choice, path, isRead).length === 0);
  return wanted.every(fits) ? [] : [`${path} lost one of its forms`];
}
