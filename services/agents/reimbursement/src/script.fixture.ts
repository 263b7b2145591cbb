import {
  latestFunctionResponses,
  latestUserText,
  type ModelReply,
  type ModelRequest,
  type ModelScript,
} from '@agentmesh/testing';

/** From this amount on a manager must approve. */
const limit = 100;

/** What a model would do here: pay what is small, ask for what is not, and pay it when the answer is yes. */
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
  if (status === 'approved') return { calls: [{ name: 'reimburse', args: askedFor(request) }] };
  return { text: `I have paid nothing: ${error ?? `your manager has ${status} it`}.` };
}

/** What the manager was asked: the last such call. */
function askedFor({ contents }: ModelRequest): Record<string, unknown> {
  const calls = contents.flatMap(({ parts = [] }) => parts.flatMap(({ functionCall }) => functionCall ?? []));
  return calls.findLast(({ name }) => name === 'ask_for_approval')?.args ?? {};
}

function sayPaid({ paymentId, amount, purpose, error }: Record<string, unknown> = {}): string {
  return paymentId ? `You have ${amount} back for ${purpose} (${paymentId}).` : `I could not pay: ${error}`;
}
