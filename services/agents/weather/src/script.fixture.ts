import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: ask for the report of the city, then repeat it. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, report, message, error } = result.response ?? {};
    return { text: String(status === 'success' ? report : (message ?? error)) };
  }
  const city = /\bin ([A-Z][A-Za-z ]*[A-Za-z])/.exec(latestUserText(request))?.[1] ?? 'here';
  return { calls: [{ name: 'get_weather', args: { city } }] };
};
