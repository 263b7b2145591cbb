import type { ModelRequest, RecordedRequest } from '@agentmesh/testing';
import type { Content } from '@google/genai';
import type { Outcome, SeenEvent } from './kit.ts';

/** Takes out what cannot be the same in two runs: ids, times, the words of errors, which process it was. */
export function normalize(
  turns: readonly (readonly SeenEvent[])[],
  state: Record<string, unknown>,
  requests: readonly RecordedRequest[],
): Outcome {
  const ids = new Map<string, string>();
  const prompts: Record<string, unknown[]> = {};
  for (const request of requests) {
    prompts[request.model] ??= [];
    prompts[request.model]?.push(promptOf(request));
  }
  return {
    turns: turns.map((events) => events.map((event) => eventOf(event, ids))),
    state: Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))),
    prompts,
  };
}

function eventOf(event: SeenEvent, ids: Map<string, string>): unknown {
  const { author, content, partial, branch, errorCode, longRunningToolIds = [], actions } = event;
  const { stateDelta, transferToAgent, escalate, skipSummarization } = actions;
  return compact({
    author,
    branch,
    partial: partial || undefined,
    role: content?.role,
    parts: content?.parts?.map((part) => partOf(part, ids)),
    // The codes of models' servers are theirs; that it failed is ours.
    failed: errorCode === undefined ? undefined : true,
    open: longRunningToolIds.length > 0 ? longRunningToolIds.map((id) => nameOf(id, ids)) : undefined,
    stateDelta: Object.keys(stateDelta).length > 0 ? stateDelta : undefined,
    transferToAgent,
    escalate,
    skipSummarization,
  });
}

type Part = NonNullable<Content['parts']>[number];

function partOf(part: Part, ids?: Map<string, string>): unknown {
  const { functionCall: call, functionResponse: response } = part;
  if (call)
    return compact({
      call: call.name,
      args: call.args ?? {},
      id: ids && call.id ? nameOf(call.id, ids) : undefined,
    });
  if (response) {
    const id = ids && response.id ? nameOf(response.id, ids) : undefined;
    return compact({ response: response.name, value: withoutWords(response.response), id });
  }
  return part;
}

/** Errors are told in each library's own words. */
function withoutWords(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('error' in value)) return value;
  return typeof value.error === 'string' ? { ...value, error: '(words)' } : value;
}

function nameOf(id: string, ids: Map<string, string>): string {
  const name = ids.get(id) ?? `#${ids.size + 1}`;
  ids.set(id, name);
  return name;
}

/** The system instruction is left out: what the user did not write in it is each library's own words. */
function promptOf({ contents, tools }: ModelRequest): unknown {
  return {
    contents: contents.map(({ role, parts }) => ({ role, parts: parts?.map((part) => promptPartOf(part)) })),
    tools: tools.map(declarationOf).sort((a, b) => String(a.name).localeCompare(String(b.name))),
  };
}

/** Each library tells a model in its own words to go on after its own words. */
function promptPartOf(part: Part): unknown {
  const { text } = part;
  return text && /^(Continue processing|Go on with what)/.test(text) ? { text: '(go on)' } : partOf(part);
}

/** Descriptions are the user's, but for those of what the library itself adds. */
function declarationOf({ name, parameters }: ModelRequest['tools'][number]): Record<string, unknown> {
  if (name === 'transfer_to_agent') return { name };
  const { request, ...others } = parameters?.properties ?? {};
  // No parameters and an empty object of them are the same.
  if (!request && Object.keys(others).length === 0) return { name };
  if (!request || Object.keys(others).length > 0) return compact({ name, parameters });
  return { name, parameters: { ...parameters, properties: { request: { type: request.type } } } };
}

function compact(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
