import type { FunctionCall, Part, PartialArg } from '@google/genai';

/** Assembles the parts of one answer from the chunks of a stream. */
export class StreamedParts {
  readonly parts: Part[] = [];
  /**
   * The call whose arguments are still arriving, piece by piece (Vertex AI, `streamFunctionCallArguments`).
   */
  #open: FunctionCall | undefined;

  #hasHalfCall = false;

  /** Tells whether arguments of a call are missing. */
  get hasHalfCall(): boolean {
    return this.#hasHalfCall || this.#open !== undefined;
  }

  add(part: Part): void {
    const { functionCall: call } = part;
    if (!call) {
      this.#addText(part);
      return;
    }
    const continues = this.#open !== undefined && call.name === undefined;
    this.#hasHalfCall ||= this.#open !== undefined && !continues;
    if (continues) this.#addPiece(call);
    else if (call.partialArgs || call.willContinue) {
      const { partialArgs: _args, willContinue: _more, ...rest } = call;
      this.#open = { ...rest, args: { ...call.args } };
      this.parts.push({ ...part, functionCall: this.#open });
      this.#addPiece(call);
    } else {
      this.#open = undefined;
      this.parts.push({ ...part });
    }
  }

  #addPiece({ partialArgs = [], willContinue }: FunctionCall): void {
    const args = this.#open?.args ?? {};
    for (const piece of partialArgs) addArg(args, piece);
    if (!willContinue) this.#open = undefined;
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
  return Object.keys(part).every((key) => key === 'text' || key === 'thought');
}

/** Sets or continues the value at a JSON path: `$.to[0].name`. */
function addArg(args: Record<string, unknown>, piece: PartialArg): void {
  const keys = keysOf(piece.jsonPath ?? '');
  const last = keys.pop();
  // Only own properties may be written: a model must not reach the prototype of all objects.
  if (last === undefined || [...keys, last].includes('__proto__')) return;
  let place = args;
  keys.forEach((key, at) => {
    const next = Object.hasOwn(place, key) ? place[key] : undefined;
    const inner = isPlace(next) ? next : makePlace(keys[at + 1] ?? last);
    place[key] = inner;
    place = inner;
  });
  const previous = Object.hasOwn(place, last) ? place[last] : undefined;
  const { stringValue, numberValue, boolValue } = piece;
  if (stringValue === undefined) place[last] = numberValue ?? boolValue ?? null;
  else place[last] = typeof previous === 'string' ? previous + stringValue : stringValue;
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
