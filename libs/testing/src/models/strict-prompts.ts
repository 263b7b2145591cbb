import type { WireRequest } from './rude-server.ts';

type Fields = Record<string, unknown>;

/** Returns why a strict server refuses a request; undefined when it takes it. */
export function promptProblem({ body, path }: WireRequest): string | undefined {
  if (!isWellFormed(body)) return 'the request holds half a character';
  return path.includes('/chat/completions') ? chatProblem(body) : geminiProblem(body);
}

/** The fields of a part that Gemini counts as data. */
const dataFields = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];

function geminiProblem({ contents }: Fields): string | undefined {
  let open: string[] = [];
  for (const { role, parts } of listOf(contents)) {
    const all = listOf(parts);
    if (role !== 'user' && role !== 'model') return `a role ${role}`;
    if (all.length === 0) return 'a content without parts';
    if (all.some((part) => !dataFields.some((field) => part[field] !== undefined)))
      return 'a part without data';
    if (all.some(({ text }) => text === '')) return 'an empty text';
    if (all.some(({ partMetadata }) => partMetadata !== undefined)) return 'partMetadata';
    const responses = all.flatMap(({ functionResponse }) =>
      functionResponse ? [name(functionResponse)] : [],
    );
    if (responses.join() !== open.join()) return `responses ${responses} to calls ${open}`;
    open = all.flatMap(({ functionCall }) => (functionCall ? [name(functionCall)] : []));
    if (open.includes('')) return 'a call without a name';
  }
  return open.length === 0 ? undefined : 'calls without responses';
}

function chatProblem({ messages }: Fields): string | undefined {
  let open: unknown[] = [];
  for (const { role, content, tool_calls: calls, tool_call_id: id } of listOf(messages)) {
    if (role === 'tool') {
      if (!open.includes(id)) return `a response to no call: ${id}`;
      open = open.filter((each) => each !== id);
      continue;
    }
    if (open.length > 0) return `calls without responses: ${open}`;
    if (!content && !calls) return `an empty message of ${role}`;
    for (const call of listOf(calls)) {
      if (!call.id || !name(call.function)) return 'a call without an id or a name';
      JSON.parse(String((call.function as Fields).arguments));
    }
    open = listOf(calls).map((call) => call.id);
    if (new Set(open).size < open.length) return 'two calls with one id';
  }
  return open.length === 0 ? undefined : `calls without responses: ${open}`;
}

function name(value: unknown): string {
  return String((value as Fields | undefined)?.name ?? '');
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value : [];
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, each]) => key.isWellFormed() && isWellFormed(each));
}
