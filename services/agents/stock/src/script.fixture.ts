import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: look the ticker up, then say the price. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, ticker, price, message } = result.response ?? {};
    return {
      text: status === 'success' ? `${ticker} stands at $${price}.` : `I could not find out: ${message}.`,
    };
  }
  const ticker = /\b[A-Z]{2,5}\b/.exec(latestUserText(request))?.[0];
  if (!ticker) return { text: 'Which stock do you mean? Give me its ticker symbol.' };
  return { calls: [{ name: 'get_stock_price', args: { ticker } }] };
};
