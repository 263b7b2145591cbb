import { MeshError } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import type { InstructionProvider } from '../base/callbacks.ts';
import type { ReadonlyContext } from '../base/context.ts';

const placeholder = /\{+([^{}]*)\}+/g;
const stateKey = /^(?:(?:app|user|temp):)?[A-Za-z_][A-Za-z0-9_]*$/;
const artifactKey = /^artifact\.(.+)$/;

/**
 * Fills `{key}` from the state and `{artifact.name}` with a file; a name that ends in `?` may be missing.
 * A name in double braces, `{{key}}`, is written as `{key}`. Other text in braces (`{"json": 1}`, `{a b}`) stays
 * unchanged.
 *
 * @throws MeshError `failed_precondition` that names the missing value
 */
async function fillInstruction(
  template: string,
  state: Record<string, unknown>,
  loadArtifact?: (name: string) => Promise<Part | undefined>,
): Promise<string> {
  const filled: string[] = [];
  let end = 0;
  for (const match of template.matchAll(placeholder)) {
    const [whole, inner = ''] = match;
    const value = isDoubled(whole)
      ? literal(whole, inner.trim())
      : await fill(inner.trim(), state, loadArtifact);
    filled.push(template.slice(end, match.index), value ?? whole);
    end = match.index + whole.length;
  }
  return filled.join('') + template.slice(end);
}

const isDoubled = (whole: string) => whole.startsWith('{{') && whole.endsWith('}}');

/** Returns a name in double braces with one pair less; undefined for other text. */
function literal(whole: string, inner: string): string | undefined {
  const key = inner.replace(/\?$/, '');
  return stateKey.test(key) || artifactKey.test(key) ? whole.slice(1, -1) : undefined;
}

async function fill(
  inner: string,
  state: Record<string, unknown>,
  loadArtifact: ((name: string) => Promise<Part | undefined>) | undefined,
): Promise<string | undefined> {
  const optional = inner.endsWith('?');
  const key = optional ? inner.slice(0, -1) : inner;
  const [, file] = artifactKey.exec(key) ?? [];
  if (file !== undefined) {
    const part = await loadArtifact?.(file);
    if (part) return part.text ?? JSON.stringify(part);
  } else {
    if (!stateKey.test(key)) return undefined;
    if (Object.hasOwn(state, key)) return asText(state[key]);
  }
  if (optional) return '';
  const what =
    file === undefined ? `state key "${key}", which is not set` : `artifact "${file}", which is not there`;
  throw new MeshError('failed_precondition', `the instruction needs ${what}; set it, or write {${key}?}`);
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the text of an instruction for this step. */
export async function readInstruction(
  instruction: string | InstructionProvider,
  context: ReadonlyContext,
): Promise<string> {
  if (typeof instruction !== 'string') return await instruction(context);
  if (!instruction.includes('{')) return instruction;
  const { invocationContext } = context;
  const { artifactService, session } = invocationContext ?? {};
  const ref = { appName: context.appName, userId: context.userId, sessionId: context.sessionId };
  const load =
    artifactService && session
      ? (filename: string) => artifactService.loadArtifact({ ...ref, filename })
      : undefined;
  return await fillInstruction(instruction, context.state.toRecord(), load);
}
