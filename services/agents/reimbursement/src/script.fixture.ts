import {
  latestFunctionResponses,
  latestUserText,
  type ModelReply,
  type ModelRequest,
  type ModelScript,
} from '@agentmesh/testing';

/** Smallest amount that a manager must approve. */
const limit = 100;

/** A model's answers: pay small amounts, ask the manager for larger amounts, and pay these after a yes. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result?.name === 'reimburse') return { text: sayPaid(result.response) };
  if (result) return afterManager(request, result.response);
  const text = latestUserText(request);
  const amount = Number(/\d+(?:\.\d+)?/.exec(text)?.[0] ?? 0);
  if (amount === 0) return { text: 'How much did you spend, and what for?' };
  const purpose = /\bfor ([^.!?]+)/.exec(text)?.[1] ?? 'expenses';
  return { calls: [{ name: amount < limit ? 'reimburse' : 'ask_for_approval', args: { purpose, amount } }] };
};

function afterManager(request: ModelRequest, answer: Record<string, unknown> = {}): ModelReply {
  const { status, ticketId, error } = answer;
  if (status === 'pending') return { text: `Your manager has to approve this first (${ticketId}).` };
  if (status === 'approved') return { calls: [{ name: 'reimburse', args: approvalArguments(request) }] };
  return { text: `I have paid nothing: ${error ?? `your manager has ${status} it`}.` };
}

/** Returns the arguments of the last request for approval. */
function approvalArguments({ contents }: ModelRequest): Record<string, unknown> {
  const calls = contents.flatMap(({ parts = [] }) => parts.flatMap(({ functionCall }) => functionCall ?? []));
  return calls.findLast(({ name }) => name === 'ask_for_approval')?.args ?? {};
}

function sayPaid({ paymentId, amount, purpose, error }: Record<string, unknown> = {}): string {
  return paymentId ? `You have ${amount} back for ${purpose} (${paymentId}).` : `I could not pay: ${error}`;
}
