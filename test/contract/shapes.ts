/** The types at the paths of an answer, for example `body[].id` → `string`. */
export type Shape = ReadonlyMap<string, string>;

/** A place at which two answers differ. */
export interface Difference {
  at: string;
  agentmesh: string;
  adk: string;
}

/** Returns the shape of an answer: its status, its type, and the types of all parts of its body. */
export async function shapeOf(answer: Response): Promise<{ shape: Shape; body: unknown }> {
  const type = (answer.headers.get('content-type') ?? 'none').split(';')[0] ?? '';
  const text = await answer.text();
  const body = type === 'text/event-stream' ? framesIn(text) : jsonOf(text);
  const types = new Map<string, Set<string>>();
  collect(body, 'body', types);
  const shape = new Map([...types].map(([path, each]) => [path, [...each].sort().join(' or ')]));
  return { shape: new Map([['status', String(answer.status)], ['type', type], ...shape]), body };
}

/**
 * Compares two shapes. Answers with another status or type differ as a whole. Parts below a part that only one
 * of them has are left out.
 */
export function differences(ours: Shape, adk: Shape): Difference[] {
  const paths = [...new Set([...ours.keys(), ...adk.keys()])];
  const found = paths.flatMap((at) => {
    const [mine = 'absent', other = 'absent'] = [ours.get(at), adk.get(at)];
    return mine === other ? [] : [{ at, agentmesh: mine, adk: other }];
  });
  const whole = found.find(({ at }) => at === 'status') ?? found.find(({ at }) => at === 'type');
  if (whole) return [whole];
  const isBelow = (path: string, parent: string) =>
    path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length));
  return found.filter(({ at }) => !found.some((other) => isBelow(at, other.at)));
}

function collect(value: unknown, path: string, types: Map<string, Set<string>>): void {
  const type = Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value;
  const known = types.get(path) ?? new Set();
  types.set(path, known.add(type));
  if (Array.isArray(value)) for (const each of value) collect(each, `${path}[]`, types);
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value))
      collect(each, `${path}.${isId(key) ? '<id>' : key}`, types);
}

/** Tells whether a key is the id of a call, which each server makes anew. */
function isId(key: string): boolean {
  return /^adk-[0-9a-f-]{36}$/.test(key);
}

/** Returns the data of the frames of a stream. A block without data, which holds an id only, is left out. */
function framesIn(text: string): unknown[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
