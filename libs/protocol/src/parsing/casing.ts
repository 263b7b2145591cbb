import { MeshError } from '../errors/mesh-error.ts';

const maxNesting = 200;

/** The keys whose values belong to the user. Their values are passed on unchanged. */
const opaque = new Set([
  'args',
  'response',
  'payload',
  'state',
  'stateDelta',
  'state_delta',
  'artifactDelta',
  'artifact_delta',
  'requestedAuthConfigs',
  'requested_auth_configs',
  'requestedToolConfirmations',
  'requested_tool_confirmations',
  'customMetadata',
  'custom_metadata',
]);

/**
 * Removes fields that are null; ADK for Python writes absent fields so. Values that belong to the user stay
 * unchanged.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(
    fields.map(([key, inner]) => [key, opaque.has(key) ? inner : withoutNulls(inner)]),
  );
}

/**
 * Turns the snake_case keys of ADK's requests into camelCase. Values that belong to the user stay unchanged.
 *
 * @param what the name of the data in errors, such as `the body`
 * @throws MeshError `invalid_argument` for data that is nested too deep, and for an object with both spellings of a key,
 * of which one would be ignored in silence
 */
export function camelizeKeys(value: unknown, what: string, depth = 0): unknown {
  if (depth > maxNesting)
    throw new MeshError('invalid_argument', `${what} is nested more than ${maxNesting} deep`);
  if (Array.isArray(value)) return value.map((each) => camelizeKeys(each, what, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const spellings = new Map<string, string>();
  const fields = Object.entries(value).map(([key, inner]) => {
    // A key such as __proto__ is none in snake_case.
    const camel = key.replace(/(?<=[^_])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const other = spellings.get(camel);
    if (other !== undefined)
      throw new MeshError('invalid_argument', `${what} has both ${other} and ${key}; send one of them`);
    spellings.set(camel, key);
    return [camel, opaque.has(key) ? inner : camelizeKeys(inner, what, depth + 1)];
  });
  return Object.fromEntries(fields);
}
