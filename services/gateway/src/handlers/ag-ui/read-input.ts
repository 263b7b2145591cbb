import { isDeepStrictEqual } from 'node:util';
import type { Message, RunAgentInput } from '@ag-ui/core';
import type { pendingCalls } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { RequestedRun } from '../../runs/start-requested-run.ts';

type Pending = Awaited<ReturnType<typeof pendingCalls>>[number];
type NewMessage = RequestedRun['newMessage'];
type Parts = NonNullable<NewMessage['parts']>;
type Resume = NonNullable<RunAgentInput['resume']>[number];

/**
 * Returns the message of an input: answers to the questions that its `resume` names, or its last message.
 *
 * @param pending the questions that wait in the session
 * @throws MeshError `unimplemented` for what a mesh does not offer; `failed_precondition` for an answer to no question
 */
export function messageOf(input: RunAgentInput, pending: readonly Pending[]): NewMessage {
  refuse('tools', input.tools, 'agents of a mesh use the tools of the mesh');
  refuse('context', input.context, 'put it into the message or into the state');
  refuse('forwardedProps', Object.keys(Object(input.forwardedProps)), 'nothing reads them');
  if (input.resume?.length)
    return { role: 'user', parts: input.resume.map((each) => answerOf(each, pending)) };
  return { role: 'user', parts: partsOf(input.messages.at(-1)) };
}

function refuse(field: string, values: readonly unknown[] | undefined, advice: string): void {
  if (!values?.length) return;
  throw new MeshError('unimplemented', `this endpoint takes no ${field}: ${advice}`);
}

function partsOf(message: Message | undefined): Parts {
  if (message?.role !== 'user') {
    throw new MeshError(
      'invalid_argument',
      `the last of the messages must have the role user, not ${message?.role ?? 'none'}; answer interrupts by resume`,
    );
  }
  const { content } = message;
  if (typeof content === 'string') return [{ text: content }];
  return content.map((part) => {
    if (part.type === 'text') return { text: part.text };
    throw new MeshError(
      'unimplemented',
      `this endpoint takes no content of type ${part.type}; upload the file as an artifact of the session`,
    );
  });
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
