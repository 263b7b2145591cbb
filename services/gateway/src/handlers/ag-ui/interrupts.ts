import type { Interrupt } from '@ag-ui/core';
import type { pendingCalls } from '@agentmesh/mesh';

type Pending = Awaited<ReturnType<typeof pendingCalls>>[number];

/** The parts of a question that a client may show. */
interface QuestionArgs {
  originalFunctionCall?: { id?: string; name?: string; args?: unknown };
  toolConfirmation?: { hint?: string; payload?: unknown; payloadSchema?: Record<string, unknown> };
  message?: string;
  responseSchema?: Record<string, unknown>;
}

const reasons: Record<Pending['kind'], string> = {
  confirmation: 'tool_call',
  input: 'input_required',
  credential: 'agentmesh:credential',
  result: 'agentmesh:result',
};

/**
 * Returns a question as an interrupt of AG-UI. A `resume` entry with its id answers it. Its metadata name the tool that
 * asks.
 */
export function interruptOf({ id, kind, args, deadline }: Pending): Interrupt {
  const { originalFunctionCall: call, toolConfirmation, message, responseSchema } = args as QuestionArgs;
  const text = toolConfirmation?.hint || message;
  const schema =
    kind === 'confirmation' ? confirmationSchema(toolConfirmation?.payloadSchema) : responseSchema;
  return {
    ...{ id, reason: reasons[kind] },
    ...(text && { message: text }),
    ...(call?.id !== undefined && { toolCallId: call.id }),
    ...(schema && { responseSchema: schema }),
    ...(deadline !== undefined && { expiresAt: new Date(deadline).toISOString() }),
    metadata: { ...args, ...(call?.name !== undefined && { toolName: call.name }) },
  };
}

function confirmationSchema(payload: Record<string, unknown> | undefined): Record<string, unknown> {
  return {
    type: 'object',
    properties: { confirmed: { type: 'boolean' }, ...(payload && { payload }) },
    required: ['confirmed'],
  };
}
