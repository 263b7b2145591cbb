import { MeshError } from '@agentmesh/protocol';
import { isErrorBody, isRecord, readErrorBody } from './error-body.ts';
import { parseMarked } from './exact-json.ts';

/** A piece of a streamed answer. */
export type Frame = Record<string, unknown>;

/** The error that a server sends within a stream. */
export class FrameError extends MeshError {
  /** The error as the server sent it, as JSON. */
  readonly body: string;

  constructor(body: string) {
    super(
      'unavailable',
      `the model's server reports an error: ${readErrorBody(body)?.message ?? body.slice(0, 200)}`,
    );
    this.body = body;
  }
}

/**
 * Reads the pieces of a streamed answer: server-sent events, a JSON value or list in their place, or a JSON value
 * in each line. The answer decides, because its content type is often wrong.
 *
 * @throws FrameError for an error of the server; MeshError `unavailable` for an answer that is cut or is neither
 */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, void, void> {
  const events = new EventLines();
  for await (const line of readLines(body)) {
    const event = events.add(line);
    // The end itself may be cut.
    if (event && '[DONE]'.startsWith(event.text.trim())) return;
    if (event) yield* frameOf(event);
  }
  const { hasEvents, others } = events;
  if (!hasEvents) yield* framesOf(others);
  else if (others.length > 0) yield* frameOf({ text: others.join('\n'), isError: false });
}

interface ServerEvent {
  text: string;
  isError: boolean;
}

/** Puts the lines of an answer together to server-sent events. */
class EventLines {
  hasEvents = false;
  /** The lines from the first one that belongs to no event. */
  readonly others: string[] = [];
  #data: string[] = [];
  #isError = false;

  /** Adds a line, and returns the event that it ends. */
  add(line: string): ServerEvent | undefined {
    if (line === '' && this.others.length === 0) return this.#take();
    const [isField, field, value = ''] = /^(data|event|id|retry)?: ?(.*)$/s.exec(line) ?? [];
    const isOther = this.others.length > 0 || (isField === undefined && this.#data.length === 0);
    if (isOther) this.others.push(line);
    // Some servers write JSON in several lines with one field name.
    else if (isField === undefined) this.#data.push(line);
    else if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#isError = value === 'error';
    this.hasEvents ||= !isOther;
    return undefined;
  }

  #take(): ServerEvent | undefined {
    const event = { text: this.#data.join('\n'), isError: this.#isError };
    this.#data = [];
    this.#isError = false;
    return event.text.trim() === '' ? undefined : event;
  }
}

/** Yields the pieces of an answer that is no event stream. */
function* framesOf(lines: readonly string[]): Generator<Frame, void, void> {
  const text = lines.join('\n');
  if (text.trim() === '') return;
  if (!/^\s*[[{]/.test(text)) throw new FrameError(text);
  const whole = parse(text);
  if (whole !== undefined)
    for (const each of [whole].flat()) yield* frameOf({ text: JSON.stringify(each), isError: false });
  else for (const line of lines) if (line.trim() !== '') yield* frameOf({ text: line, isError: false });
}

function* frameOf({ text, isError }: ServerEvent): Generator<Frame, void, void> {
  const value = parse(text);
  if (isError || isErrorBody(value)) throw new FrameError(text);
  if (value === undefined) throw cut();
  if (isRecord(value)) yield value;
}

function parse(text: string): unknown {
  try {
    return parseMarked(text);
  } catch {
    return undefined;
  }
}

function cut(): MeshError {
  return new MeshError('unavailable', 'the model has ended its answer in the middle');
}

/** Splits text into lines, which end with LF, CR or both. The last line needs no end. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    // A CR at the end may be the first half of a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  yield rest.replace(/\r$/, '');
  // A stream may end without the empty line that ends its last event.
  yield '';
}
