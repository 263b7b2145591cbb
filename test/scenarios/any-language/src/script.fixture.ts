import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: look the rate of the currency up, then repeat it. `slowly` makes the tool take 5 s. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) return { text: JSON.stringify(result.response) };
  const text = latestUserText(request);
  const currency = /\b[A-Z]{3}\b/.exec(text)?.[0] ?? 'USD';
  return { calls: [{ name: 'get_rate', args: { currency, slow_s: /slowly/.test(text) ? 5 : 0 } }] };
};
