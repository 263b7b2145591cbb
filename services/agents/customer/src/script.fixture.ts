import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: have the urgency checked, then answer a request that is not urgent. */
export const script: ModelScript = (request) => {
  if (latestFunctionResponses(request).length > 0)
    return { text: 'No hurry, then. How can I help you with it?' };
  return { calls: [{ name: 'check_urgency', args: { request: latestUserText(request) } }] };
};
