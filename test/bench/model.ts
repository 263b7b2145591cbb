import type { Content } from '@google/genai';

/**
 * Returns the answer of each model of the benchmark: as many calls as the question wants, one after the other,
 * then a text.
 */
export function answerOf(contents: readonly Content[]): Content {
  const at = contents.findLastIndex(({ parts }) => parts?.some(({ text }) => text?.startsWith(wanted)));
  const calls = Number(/\d+/.exec(contents[at]?.parts?.[0]?.text ?? '')?.[0] ?? 1);
  const answered = contents
    .slice(at === -1 ? -1 : at)
    .flatMap(({ parts = [] }) => parts.filter(({ functionResponse }) => functionResponse)).length;
  return answered >= calls
    ? { role: 'model', parts: [{ text: 'GOOG stands at $182.4.' }] }
    : { role: 'model', parts: [{ functionCall: { name: 'get_stock_price', args: { ticker: 'GOOG' } } }] };
}

const wanted = 'Look up the price';

export const price = { status: 'success', price: 182.4 };
export const question = { role: 'user', parts: [{ text: 'What is the price of GOOG?' }] };

/** Returns a question that wants several calls of the tool, one after the other. */
export function stepsQuestion(calls: number): typeof question {
  return { role: 'user', parts: [{ text: `${wanted} ${calls} times.` }] };
}
