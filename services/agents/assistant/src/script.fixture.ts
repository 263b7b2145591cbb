import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: have the text summarised, then present the summary. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) return { text: `Here is the summary: ${result.response?.result ?? result.response?.error}` };
  return { calls: [{ name: 'summary_agent', args: { request: latestUserText(request) } }] };
};
