import { MeshError } from '@agentmesh/protocol';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Checks the id that a client chooses for a new session. Every id is safe in the store; these would be misread by
 * proxies, in logs, and by people.
 *
 * @throws MeshError `invalid_argument` that names the problem
 */
export function assertSessionName(id: string): void {
  const problem = control.test(id)
    ? 'has a control character'
    : id.trim() !== id
      ? 'begins or ends with a space'
      : /[/\\]/.test(id) || id === '.' || id === '..'
        ? 'is a path'
        : undefined;
  if (problem !== undefined)
    throw new MeshError(
      'invalid_argument',
      `the session id ${JSON.stringify(id)} ${problem}; choose another`,
    );
}
