import { MeshError } from '@agentmesh/protocol';

const placeholder = /\{+([^{}]*)\}+/g;
const stateKey = /^(?:(?:app|user|temp):)?[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fills `{key}` from the state; `{key?}` may be missing. What is not a key (`{"json": 1}`, `{a b}`) stays as it is.
 *
 * @throws MeshError `failed_precondition` that names a key the state lacks.
 */
export function fillInstruction(template: string, state: Record<string, unknown>): string {
  return template.replace(placeholder, (whole, inner: string) => {
    const optional = inner.trim().endsWith('?');
    const key = optional ? inner.trim().slice(0, -1) : inner.trim();
    if (!stateKey.test(key)) return whole;
    if (!Object.hasOwn(state, key)) {
      if (optional) return '';
      throw new MeshError(
        'failed_precondition',
        `the instruction needs state key "${key}", which is not set; set it, or write {${key}?}`,
      );
    }
    const value = state[key];
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
