import type { Content } from '@google/genai';

/**
 * Returns the answer of each model of the benchmark: first a call, then a text after the result of the call.
 */
export function answerOf(contents: readonly Content[]): Content {
  const isAnswered = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse) ?? false;
  return isAnswered
    ? { role: 'model', parts: [{ text: 'GOOG stands at $182.4.' }] }
    : { role: 'model', parts: [{ functionCall: { name: 'get_stock_price', args: { ticker: 'GOOG' } } }] };
}

export const price = { status: 'success', price: 182.4 };
export const question = { role: 'user', parts: [{ text: 'What is the price of GOOG?' }] };
