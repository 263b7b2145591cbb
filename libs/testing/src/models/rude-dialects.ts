import type { WireAnswer } from './rude-server.ts';

/** The outcome that a client must make of an answer. */
export type Reading =
  | { kind: 'text'; text: string }
  /** Calls of the tool `note`, by the value of their argument `x`. */
  | { kind: 'calls'; xs: unknown[] }
  /** Calls that must not be made; the model is told why. */
  | { kind: 'refused' }
  | { kind: 'error'; code: RegExp; words?: RegExp };

/** An answer of a provider, a proxy or a local server as it was seen in public reports. */
export interface Dialect {
  name: string;
  reading: Reading;
  /** Answers a request; undefined when the dialect has no such form. */
  answer: (isStream: boolean) => WireAnswer | undefined;
}

export const json = { 'content-type': 'application/json' };
export const events = { 'content-type': 'text/event-stream' };

/** Writes the pieces of a stream as server-sent events. */
export function eventsOf(frames: readonly unknown[], end = ''): string {
  return frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') + end;
}

export const text = (words: string): Reading => ({ kind: 'text', text: words });
export const calls = (...xs: unknown[]): Reading => ({ kind: 'calls', xs });
export const error = (code: RegExp, words?: RegExp): Reading => ({
  kind: 'error',
  code,
  ...(words && { words }),
});
