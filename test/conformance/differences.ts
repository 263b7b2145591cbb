import type { Outcome } from './kit.ts';

/**
 * Returns the differences of two outcomes: a line for each entry that only one of them has, `-` for ADK and
 * `+` for agentmesh, with its place.
 */
export function differencesOf(adk: Outcome, agentmesh: Outcome): string[] {
  const theirs = linesOf(adk);
  const ours = linesOf(agentmesh);
  const groups = new Set([...theirs.keys(), ...ours.keys()]);
  return [...groups].flatMap((group) => {
    const [left = [], right = []] = [theirs.get(group), ours.get(group)];
    const [same, sameHere] = commonLines(left, right);
    return [...onlyHere('-', group, left, same), ...onlyHere('+', group, right, sameHere)];
  });
}

/** Returns a line for each event, each key of the state and each content of a prompt, grouped by place. */
function linesOf({ turns, state, prompts, ...books }: Outcome): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [at, events] of turns.entries()) groups.set(`turn ${at}`, events.map(toLine));
  for (const [id, values] of Object.entries(state)) groups.set(`state of ${id}`, fieldsOf(values).sort());
  for (const [model, asked] of Object.entries(prompts)) {
    for (const [at, prompt] of asked.entries()) groups.set(`prompt ${at} of ${model}`, fieldsOf(prompt));
  }
  return groups.set('books', fieldsOf(books));
}

function fieldsOf(values: Record<string, unknown>): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    key === 'contents' && Array.isArray(value) ? value.map(toLine) : [`${key}: ${toLine(value)}`],
  );
}

/** Writes JSON with sorted keys, since the order of keys has no meaning. */
function toLine(value: unknown): string {
  return JSON.stringify(value, (_key, each) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function onlyHere(
  sign: string,
  group: string,
  lines: readonly string[],
  common: ReadonlySet<number>,
): string[] {
  return lines.flatMap((line, at) => (common.has(at) ? [] : [`${sign} ${group}, ${at}: ${line}`]));
}

/** Finds the longest common sequence of lines, as indices on both sides. */
function commonLines(left: readonly string[], right: readonly string[]): [Set<number>, Set<number>] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  const longest = (l: number, r: number) => lengths[l]?.[r] ?? 0;
  for (let l = left.length - 1; l >= 0; l -= 1) {
    for (let r = right.length - 1; r >= 0; r -= 1) {
      const row = lengths[l] ?? [];
      row[r] =
        left[l] === right[r] ? longest(l + 1, r + 1) + 1 : Math.max(longest(l + 1, r), longest(l, r + 1));
    }
  }
  const [onLeft, onRight] = [new Set<number>(), new Set<number>()];
  for (let l = 0, r = 0; l < left.length && r < right.length; ) {
    if (left[l] === right[r]) {
      onLeft.add(l);
      onRight.add(r);
      l += 1;
      r += 1;
    } else if (longest(l + 1, r) >= longest(l, r + 1)) l += 1;
    else r += 1;
  }
  return [onLeft, onRight];
}
