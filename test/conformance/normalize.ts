import type { ModelRequest, RecordedRequest } from '@agentmesh/testing';
import type { Content } from '@google/genai';
import type { Outcome, SeenEvent, SeenSession } from './kit.ts';

export interface Seen {
  turns: readonly (readonly SeenEvent[])[];
  sessions: Record<string, SeenSession>;
  requests: readonly RecordedRequest[];
  inParallel?: boolean | undefined;
}

/**
 * Removes the values that differ between two runs: ids, times, the texts of errors, the names of processes.
 */
export function normalize({ turns, sessions, requests, inParallel = false }: Seen): Outcome {
  const ids = new Map<string, string>();
  const prompts: Outcome['prompts'] = {};
  for (const request of requests) {
    prompts[request.model] ??= [];
    prompts[request.model]?.push(promptOf(request, inParallel));
  }
  const order = inParallel ? byAuthor : (events: readonly SeenEvent[]) => events;
  return {
    turns: turns.map((events) => order(events).map((event) => eventOf(event, ids))),
    invocations: turns.map((events) => new Set(events.flatMap((event) => event.invocationId ?? [])).size),
    ...bookkeeping(turns.flat(), Object.values(sessions)),
    state: Object.fromEntries(Object.entries(sessions).map(([id, { state }]) => [id, state])),
    prompts,
  };
}

/** Groups events by author. The events of each author keep their order. */
function byAuthor(events: readonly SeenEvent[]): SeenEvent[] {
  return events.toSorted((a, b) => String(a.author).localeCompare(String(b.author)));
}

/**
 * Compares yielded and stored events. Both must be the same, except streamed pieces and messages of the user.
 */
function bookkeeping(told: readonly SeenEvent[], sessions: readonly SeenSession[]) {
  const kept = sessions
    .flatMap(({ events }) => events)
    .filter(({ id, author }) => author !== 'user' && !id?.endsWith(':failure'));
  const whole = told.filter(({ id, partial }) => id !== undefined && !partial);
  const keptIds = new Set(kept.map(({ id }) => id));
  const toldIds = new Set(whole.map(({ id }) => id));
  return {
    repeated: kept.length - keptIds.size + whole.length - toldIds.size,
    untold: kept.filter(({ id }) => !toldIds.has(id)).map(({ author = '' }) => author),
    unkept: whole.filter(({ id = '' }) => !keptIds.has(id)).map(({ author = '' }) => author),
  };
}

function eventOf(event: SeenEvent, ids: Map<string, string>): unknown {
  const { author, content, partial, branch, errorCode, longRunningToolIds = [] } = event;
  // ADK yields a plugin's answer for a failed model unchanged, so it may be no event.
  const { stateDelta, artifactDelta, transferToAgent, escalate, skipSummarization } = event.actions ?? {};
  return compact({
    author,
    branch,
    partial: partial || undefined,
    role: content?.role,
    parts: content?.parts?.map((part) => partOf(part, ids)),
    // Only the failure is compared; the code depends on the model's server.
    failed: errorCode === undefined ? undefined : true,
    ended: event.finishReason === 'STOP' ? undefined : event.finishReason,
    open: longRunningToolIds.length > 0 ? longRunningToolIds.map((id) => nameOf(id, ids)) : undefined,
    stateDelta: unlessEmpty(stateDelta),
    artifactDelta: unlessEmpty(artifactDelta),
    customMetadata: unlessEmpty(withoutOurs(event.customMetadata)),
    transferToAgent,
    escalate,
    skipSummarization,
  });
}

/** Removes the process name that the mesh notes. */
function withoutOurs(metadata: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.startsWith('mesh:')));
}

function unlessEmpty(map: unknown): unknown {
  return typeof map === 'object' && map !== null && Object.keys(map).length > 0 ? map : undefined;
}

type Part = NonNullable<Content['parts']>[number];

function partOf(part: Part, ids?: Map<string, string>): unknown {
  const { functionCall: call, functionResponse: response, ...rest } = part;
  if (call)
    return compact({
      call: call.name,
      args: ids && call.name?.startsWith('adk_request_') ? questionOf(call.args, ids) : (call.args ?? {}),
      id: ids && call.id ? nameOf(call.id, ids) : call.id,
      ...rest,
    });
  if (response) {
    const id = ids && response.id ? nameOf(response.id, ids) : response.id;
    return compact({ response: response.name, value: withoutWords(response.response), id });
  }
  return part;
}

/**
 * Replaces the call id in a question, and its text unless the user wrote it: each library has its own text.
 */
function questionOf(args: Record<string, unknown> = {}, ids: Map<string, string>): unknown {
  return JSON.parse(JSON.stringify(args), (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    if (key === 'hint') return value.includes('«') ? value : '(words)';
    if (key === 'state' || key === 'authUri') return '(made up)';
    return value.startsWith('adk-') ? nameOf(value, ids) : value;
  });
}

/** Removes the texts of errors, which differ between the libraries. */
function withoutWords(value: unknown): unknown {
  const json = JSON.stringify(value)?.replaceAll(/"adk-[0-9a-f-]{36}(-[a-z]+-\d+)?"/g, '"(id)"');
  const plain: unknown = json && JSON.parse(json);
  if (typeof plain !== 'object' || plain === null || !('error' in plain)) return plain;
  return typeof plain.error === 'string' ? { ...plain, error: '(words)' } : plain;
}

function nameOf(id: string, ids: Map<string, string>): string {
  const name = ids.get(id) ?? `#${ids.size + 1}`;
  ids.set(id, name);
  return name;
}

/**
 * Returns the comparable part of a prompt. Of the system instruction only the user's text in marks counts:
 * the rest differs between the libraries.
 */
function promptOf(request: ModelRequest, inParallel: boolean): Record<string, unknown> {
  const { contents, tools, generationConfig, safetySettings, systemInstruction = '' } = request;
  const shown = contents.map(({ role, parts }) => ({
    role,
    parts: parts?.map((part) => promptPartOf(part)),
  }));
  return compact({
    contents: inParallel ? shown.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : shown,
    tools: tools.map(declarationOf).sort((a, b) => String(a.name).localeCompare(String(b.name))),
    told: systemInstruction.match(/«[^»]*»/g) ?? undefined,
    config: unlessEmpty(generationConfig),
    safetySettings,
  });
}

/** Replaces the text with which a library asks a model to continue after its own answer. */
function promptPartOf(part: Part): unknown {
  const { text } = part;
  return text && /^(Continue processing|Go on with what)/.test(text) ? { text: '(go on)' } : partOf(part);
}

/**
 * Returns the comparable part of a declaration. Descriptions count, except those of tools that the library
 * adds.
 */
function declarationOf({
  name,
  description,
  parameters,
}: ModelRequest['tools'][number]): Record<string, unknown> {
  if (name === 'transfer_to_agent') return { name };
  const { request, ...others } = parameters?.properties ?? {};
  const said =
    name === 'set_model_response' || name === 'exit_loop' ? undefined : description?.split('\n')[0];
  // Missing parameters and an empty object of parameters are equal.
  if (!request && Object.keys(others).length === 0) return compact({ name, description: said });
  if (!request || Object.keys(others).length > 0) return compact({ name, description: said, parameters });
  const properties = { request: { type: request.type } };
  return compact({ name, description: said, parameters: { ...parameters, properties } });
}

function compact(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
