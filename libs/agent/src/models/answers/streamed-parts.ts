import type { FunctionCall, Part, PartialArg } from '@google/genai';
import { recordsIn } from './read-response.ts';

/** Assembles the parts of one answer from the chunks of a stream. */
export class StreamedParts {
  readonly parts: Part[] = [];
  /**
   * The call whose arguments are still arriving, piece by piece (Vertex AI, `streamFunctionCallArguments`).
   */
  #open: FunctionCall | undefined;
  /** The paths of its arguments whose value is not whole. */
  #halfPaths = new Set<string>();

  /** Adds a part. A call whose arguments are not whole keeps `willContinue`. */
  add(part: Part): void {
    const { functionCall: call } = part;
    if (!call) {
      this.#addText(part);
      return;
    }
    if (!this.#open || call.name || call.args) {
      const { partialArgs, ...rest } = call;
      const isOpen = partialArgs || call.willContinue;
      this.#open = isOpen ? { ...rest, args: { ...call.args }, willContinue: true } : undefined;
      this.#halfPaths = new Set();
      this.parts.push({ ...part, functionCall: this.#open ?? call });
    }
    if (this.#open) this.#addPiece(this.#open, call);
  }

  #addPiece(open: FunctionCall, { partialArgs, willContinue }: FunctionCall): void {
    for (const piece of recordsIn(partialArgs) as PartialArg[]) {
      const path = String(piece.jsonPath);
      if (addArg(open.args ?? {}, path, piece) && !piece.willContinue) this.#halfPaths.delete(path);
      else this.#halfPaths.add(path);
    }
    if (willContinue) return;
    if (this.#halfPaths.size === 0) delete open.willContinue;
    this.#open = undefined;
  }

  /**
   * Joins a text with the text before it when both are thoughts, or both are not. All other parts stay
   * separate. So does a part with a thought signature, which holds for that part only:
   * https://ai.google.dev/gemini-api/docs/thought-signatures.
   */
  #addText(part: Part): void {
    const previous = this.parts.at(-1);
    if (previous && isPlainText(previous) && isPlainText(part) && !previous.thought === !part.thought) {
      previous.text = `${previous.text ?? ''}${part.text ?? ''}`;
    } else if (part.text !== '' || part.thoughtSignature) this.parts.push({ ...part });
  }
}

/**
 * Holds half a character (a high surrogate) at the end of a piece of text back until its other half comes, so
 * that readers of the pieces get whole characters.
 */
export class TextPieces {
  #half = '';

  next(parts: readonly Part[]): Part[] {
    return parts.flatMap((part) => {
      const text = this.#half + (part.text ?? '');
      this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
      const whole = text.slice(0, text.length - this.#half.length).toWellFormed();
      return whole === '' ? [] : [{ ...part, text: whole }];
    });
  }
}

function isPlainText(part: Part): boolean {
  return Object.entries(part).every(
    ([key, value]) => key === 'thought' || (key === 'text' && typeof value === 'string'),
  );
}

/** Sets or continues the value at a JSON path, such as `$.to[0].name`. Returns false for a path that no arguments have. */
function addArg(args: Place, path: string, { stringValue, numberValue, boolValue }: PartialArg): boolean {
  const keys = keysOf(path);
  const last = keys.pop();
  if (last === undefined) return false;
  let place = args;
  for (const [at, key] of keys.entries()) {
    if (!mayHave(place, key)) return false;
    const next = Object.hasOwn(place, key) ? place[key] : undefined;
    const inner = isPlace(next) ? next : makePlace(keys[at + 1] ?? last);
    place[key] = inner;
    place = inner;
  }
  if (!mayHave(place, last)) return false;
  const previous = Object.hasOwn(place, last) ? place[last] : undefined;
  if (typeof stringValue !== 'string') place[last] = numberValue ?? boolValue ?? null;
  else place[last] = typeof previous === 'string' ? previous + stringValue : stringValue;
  return true;
}

/** A list grows by one at a time, and only own properties may be written: a model must not reach the prototype of all objects. */
function mayHave(place: Place, key: string): boolean {
  return Array.isArray(place) ? /^\d+$/.test(key) && Number(key) <= place.length : key !== '__proto__';
}

type Place = Record<string, unknown>;

function isPlace(value: unknown): value is Place {
  return typeof value === 'object' && value !== null;
}

function makePlace(firstKey: string): Place {
  return /^\d+$/.test(firstKey) ? ([] as unknown as Place) : {};
}

function keysOf(jsonPath: string): string[] {
  const steps = jsonPath.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g);
  return [...steps].map(([, name, index, single, double]) => name ?? index ?? single ?? double ?? '');
}
