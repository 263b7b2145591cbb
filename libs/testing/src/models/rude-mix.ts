import { type Random, seededRandom } from '../faults/random.ts';
import type { Dialect } from './rude-dialects.ts';
import type { WireAnswer } from './rude-server.ts';

const contentTypes = [
  ...['application/json', 'text/event-stream', 'text/plain', 'text/html', 'application/octet-stream', ''],
];

/** A random answer. */
export interface MixedAnswer extends WireAnswer {
  /** True when bytes were changed: calls may then have arguments that no dialect sends. */
  isChanged: boolean;
}

/**
 * Makes a random answer of dialects: in a stream the pieces of several of them one after the other; cut at any byte,
 * with a wrong type, in writes of any size, or with changed bytes. The same seed makes the same answer.
 */
export function mixAnswer(dialects: readonly Dialect[], seed: number, isStream: boolean): MixedAnswer {
  const random = seededRandom(seed);
  const answers = dialects.flatMap((dialect) => dialect.answer(isStream) ?? []);
  const first = random.pick(answers);
  const whole = isStream && !first.status ? { ...first, body: mixStream(answers, random) } : first;
  const isChanged = random.chance(0.3);
  const body = isChanged ? changed(whole.body, random) : whole.body;
  const length = Buffer.byteLength(body);
  return {
    ...whole,
    body,
    isChanged,
    delayMs: 0,
    ...(random.chance(0.3) && { cutAt: random.integer(0, length), breaks: random.chance(0.5) }),
    ...(random.chance(0.2) && { headers: { 'content-type': random.pick(contentTypes) } }),
    ...(random.chance(0.2) && length < 2_000 && { writeBytes: random.integer(1, 400) }),
  };
}

/** Puts pieces of streams one after the other. */
function mixStream(answers: readonly WireAnswer[], random: Random): string {
  const pieces = Array.from({ length: random.integer(1, 3) }, () => {
    const all = random.pick(answers).body.split(/(?<=\n\n)/);
    return random.chance(0.7) ? all : random.shuffle(all).slice(0, random.integer(1, all.length));
  });
  return pieces.flat().join('');
}

/** Changes, repeats or leaves out a few characters. */
function changed(text: string, random: Random): string {
  let result = text;
  for (let left = random.integer(1, 3); left > 0; left -= 1) {
    const at = random.integer(0, result.length);
    const [before, after] = [result.slice(0, at), result.slice(at)];
    const size = random.integer(1, 8);
    result = random.pick([
      `${before}${random.pick(['"', '}', ',', '\\', 'null', '\n\n', '0', '{', '[', '\u0000', '\uFEFF'])}${after}`,
      `${before}${after.slice(size)}`,
      `${before}${after.slice(0, size)}${after}`,
    ]);
  }
  return result;
}
