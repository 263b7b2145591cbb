/** The words of a server about an error, in Google's form, which also holds the fields of OpenAI's. */
export interface ErrorBody {
  message: string;
  code?: unknown;
  /** Google's details: `RetryInfo`, `QuotaFailure`, … */
  details?: readonly Record<string, unknown>[];
  type?: unknown;
  [field: string]: unknown;
}

/** Most characters of a server's words in an error. */
const maxWords = 2_000;

/**
 * Reads the error in an answer of a server. Google, OpenAI, Anthropic and OpenRouter send `{ error: { message } }`,
 * Ollama `{ error: "…" }`, vLLM `{ object: "error", message }`, servers made with FastAPI `{ detail }`; Google's
 * streams put it into a list, and proxies send pages. Returns undefined for a text that is none of these.
 */
export function readErrorBody(text: string): ErrorBody | undefined {
  const body = parseJson(text);
  const fields = fieldsOf(body);
  const words = wordsOf(body) ?? (body === undefined ? pageWords(text) : undefined);
  if (words === undefined) return undefined;
  return { ...fields, message: words.slice(0, maxWords).toWellFormed() };
}

/** Tells whether the body of an answer with status 200 is an error. */
export function isErrorBody(body: unknown): boolean {
  if (Array.isArray(body)) return body.length > 0 && body.every(isErrorBody);
  if (!isRecord(body)) return false;
  if (body.object === 'error' || body.type === 'error' || wordsOf(body.error) !== undefined) return true;
  if (isRecord(body.error) && Object.keys(body.error).length > 0) return true;
  return !answerFields.some((field) => field in body) && wordsOf(body) !== undefined;
}

/** Fields of answers, and of pieces of answers. */
const answerFields = [
  ...['candidates', 'promptFeedback', 'usageMetadata', 'responseId', 'modelVersion'],
  ...['choices', 'usage', 'id', 'embeddings', 'embedding', 'predictions'],
];

/** Returns the status of HTTP that an error body names in the place of the answer's. */
export function statusOf({ code, status }: Partial<ErrorBody>): number | undefined {
  const named = [code, status].map(Number).find((each) => each >= 400 && each < 600);
  return named !== undefined && Number.isInteger(named) ? named : undefined;
}

function fieldsOf(body: unknown): Record<string, unknown> {
  if (Array.isArray(body)) return fieldsOf(body[0]);
  if (!isRecord(body)) return {};
  return isRecord(body.error) ? body.error : body;
}

/** Fields that hold words about an error; the first with words counts. */
const wordFields = ['error', 'message', 'detail', 'errors', 'msg', 'error_description', 'title', 'reason'];

function wordsOf(value: unknown): string | undefined {
  if (typeof value === 'string') return wordsOf(parseJson(value)) ?? (value.trim() || undefined);
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join('; ') || undefined;
  if (!isRecord(value)) return undefined;
  const words = wordFields.map((field) => wordsOf(value[field])).find((each) => each !== undefined);
  // OpenRouter: the answer of the provider behind it.
  const inner = isRecord(value.metadata) ? wordsOf(value.metadata.raw) : undefined;
  return [words, inner].filter((each) => each !== undefined).join(': ') || undefined;
}

/** Returns the words of a page without its tags; of a plain text the text. */
function pageWords(text: string): string | undefined {
  const [, title] = /<title[^>]*>([^<]*)<\/title>/i.exec(text) ?? [];
  const plain = title ?? text.replace(/<(style|script)[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');
  return plain.replace(/\s+/g, ' ').trim() || undefined;
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
