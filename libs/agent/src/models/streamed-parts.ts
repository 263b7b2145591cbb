import type { FunctionCall, Part, PartialArg } from '@google/genai';

/** Puts the parts of one answer together from the chunks of a stream. */
export class StreamedParts {
  readonly parts: Part[] = [];
  /** The call whose arguments still come, piece by piece (Vertex AI, `streamFunctionCallArguments`). */
  #open: FunctionCall | undefined;

  add(part: Part): void {
    const { functionCall: call } = part;
    if (!call) this.#addText(part);
    else if (this.#open && call.name === undefined) this.#addPiece(call);
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
   * Text goes to the text before it when both are thoughts, or both are not; all other parts stand alone. So does a part with a thought
   * signature, which holds for just that part: https://ai.google.dev/gemini-api/docs/thought-signatures.
   */
  #addText(part: Part): void {
    const before = this.parts.at(-1);
    if (before && isPlainText(before) && isPlainText(part) && !before.thought === !part.thought) {
      before.text = `${before.text ?? ''}${part.text ?? ''}`;
    } else if (part.text !== '' || part.thoughtSignature) this.parts.push({ ...part });
  }
}

function isPlainText(part: Part): boolean {
  return Object.keys(part).every((key) => key === 'text' || key === 'thought');
}

/** Sets, or for text continues, what a JSON path names: `$.to[0].name`. */
function addArg(args: Record<string, unknown>, piece: PartialArg): void {
  const keys = keysOf(piece.jsonPath ?? '');
  const last = keys.pop();
  // What is read must be the arguments' own: a model must not reach what all objects inherit.
  if (last === undefined || [...keys, last].includes('__proto__')) return;
  let place = args;
  keys.forEach((key, at) => {
    const next = Object.hasOwn(place, key) ? place[key] : undefined;
    const inner = isPlace(next) ? next : makePlace(keys[at + 1] ?? last);
    place[key] = inner;
    place = inner;
  });
  const before = Object.hasOwn(place, last) ? place[last] : undefined;
  const { stringValue, numberValue, boolValue } = piece;
  if (stringValue === undefined) place[last] = numberValue ?? boolValue ?? null;
  else place[last] = typeof before === 'string' ? before + stringValue : stringValue;
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
