import { isDeepStrictEqual } from 'node:util';
import type { Message, RunAgentInput, ToolMessage, UserMessage } from '@ag-ui/core';
import type { pendingCalls } from '@agentmesh/mesh';
import { type ClientInput, clientInputSchema, MeshError, parse } from '@agentmesh/protocol';
import type { RequestedRun } from '../../runs/start-requested-run.ts';

type Pending = Awaited<ReturnType<typeof pendingCalls>>[number];
type NewMessage = RequestedRun['newMessage'];
type Parts = NonNullable<NewMessage['parts']>;
type Resume = NonNullable<RunAgentInput['resume']>[number];

/** The key of the state under which tools and callbacks of a run find the `forwardedProps` of its input. */
const forwardedKey = 'temp:forwarded_props';

/** Tells whether an input may hold answers, which name calls that wait. */
export function mayAnswer({ resume = [], messages }: RunAgentInput): boolean {
  return resume.length > 0 || messages.at(-1)?.role === 'tool';
}

/**
 * Returns the message of an input: answers to the questions that its `resume` names and to the calls that its last
 * messages name, or its last message.
 *
 * @param pending the calls that wait in the session
 * @throws MeshError `unimplemented` for contents that a mesh does not offer; `failed_precondition` for an answer that
 * nothing waits for
 */
export function messageOf({ resume = [], messages }: RunAgentInput, pending: readonly Pending[]): NewMessage {
  const answers = [...resume.map((each) => answerOf(each, pending)), ...resultsIn(messages, pending)];
  return { role: 'user', parts: answers.length > 0 ? answers : partsOf(messages.at(-1)) };
}

/** Returns the tools and the context of an input; undefined if it has neither. @throws MeshError `invalid_argument` */
export function clientInputIn({ tools = [], context = [] }: RunAgentInput): ClientInput | undefined {
  const given = {
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    }),
    ...(context.length > 0 && {
      context: context.map(({ description, value }) => ({ description, value })),
    }),
  };
  return Object.keys(given).length > 0 ? parse(clientInputSchema, given, 'the body') : undefined;
}

/** Returns the forwarded properties of an input as state of its run. */
export function forwardedState({ forwardedProps: props }: RunAgentInput): Record<string, unknown> {
  return props === undefined || isDeepStrictEqual(props, {}) ? {} : { [forwardedKey]: props };
}

function partsOf(message: Message | undefined): Parts {
  if (message?.role === 'tool')
    throw new MeshError(
      'failed_precondition',
      `no call ${message.toolCallId} of this thread waits for the result of a tool; it may have one already`,
    );
  if (message?.role !== 'user') {
    throw new MeshError(
      'invalid_argument',
      `the last of the messages must have the role user or tool, not ${message?.role ?? 'none'}; answer interrupts by resume`,
    );
  }
  return textsOf(message.content);
}

function textsOf(content: UserMessage['content'] | ToolMessage['content']): { text: string }[] {
  if (typeof content === 'string') return [{ text: content }];
  return content.map((part) => {
    if (part.type === 'text') return { text: part.text };
    throw new MeshError(
      'unimplemented',
      `this endpoint takes no content of type ${part.type}; upload the file as an artifact of the session`,
    );
  });
}

/**
 * Returns the answers in the last messages of tools. Among them are results that the session has already: those of
 * calls that a tool of the mesh has answered.
 */
function resultsIn(messages: readonly Message[], pending: readonly Pending[]): Parts {
  const last = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1);
  return last.flatMap((message): Parts => {
    if (message.role !== 'tool') return [];
    const call = pending.find(({ id, kind }) => id === message.toolCallId && kind === 'result');
    return call ? [{ functionResponse: { id: call.id, name: call.name, response: resultOf(message) } }] : [];
  });
}

/** Returns the response to a call. Text that is a JSON object becomes this object. */
function resultOf({ content, error }: ToolMessage): Record<string, unknown> {
  const text = textsOf(content)
    .map((part) => part.text)
    .join('');
  if (error !== undefined) return { error, ...(text !== '' && { result: text }) };
  return jsonObject(text) ?? { result: text };
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function answerOf({ interruptId, status, payload }: Resume, pending: readonly Pending[]): Parts[number] {
  const question = pending.find(({ id }) => id === interruptId);
  if (!question)
    throw new MeshError(
      'failed_precondition',
      `no question ${interruptId} of this thread waits for an answer`,
    );
  const { id, name, kind } = question;
  return { functionResponse: { id, name, response: responseTo(kind, status, payload) } };
}

/** Returns the answer to a question. A cancelled confirmation is a refusal. */
function responseTo(
  kind: Pending['kind'],
  status: Resume['status'],
  payload: unknown,
): Record<string, unknown> {
  if (kind === 'confirmation' && status === 'cancelled') return { confirmed: false };
  if (status === 'cancelled')
    throw new MeshError(
      'invalid_argument',
      `only a confirmation can be cancelled; this question is of kind ${kind}`,
    );
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  if (kind === 'confirmation' && typeof payload === 'boolean') return { confirmed: payload };
  if (kind === 'input' && !isObject) return { result: payload };
  if (isObject) return { ...payload };
  throw new MeshError(
    'invalid_argument',
    `the payload for a question of kind ${kind} must be an object${kind === 'confirmation' ? ', such as {"confirmed": true}' : ''}`,
  );
}

/** Returns the keys of the state of an input that differ from the state of the session. */
export function stateChanges(given: unknown, state: Record<string, unknown>): Record<string, unknown> {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given))
    throw new MeshError('invalid_argument', 'state must be an object: its keys are those of the session');
  return Object.fromEntries(
    Object.entries(given).filter(([key, value]) => !isDeepStrictEqual(value, state[key])),
  );
}
