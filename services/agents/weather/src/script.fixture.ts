import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** What a model would do here: ask for the report of the city, then tell it. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, report, message, error } = result.response ?? {};
    return { text: String(status === 'success' ? report : (message ?? error)) };
  }
  const city = /\bin ([A-Z][A-Za-z ]*[A-Za-z])/.exec(latestUserText(request))?.[1] ?? 'here';
  return { calls: [{ name: 'get_weather', args: { city } }] };
};
