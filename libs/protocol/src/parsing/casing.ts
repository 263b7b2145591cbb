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
 * Turns the snake_case keys of ADK's requests into camelCase. When both spellings of a key are present, the
 * camelCase spelling wins. Values that belong to the user stay unchanged.
 */
export function camelizeKeys(value: unknown, depth = 0): unknown {
  if (depth > maxNesting)
    throw new MeshError('invalid_argument', `the body is nested more than ${maxNesting} deep`);
  if (Array.isArray(value)) return value.map((each) => camelizeKeys(each, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const camel = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (camel !== key && camel in value) continue;
    result[camel] = opaque.has(key) ? inner : camelizeKeys(inner, depth + 1);
  }
  return result;
}
