import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: request the days, then say how many were approved. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, requestedDays, approvedDays, error } = result.response ?? {};
    if (status === 'ok') return { text: `You have ${approvedDays} of ${requestedDays} days off.` };
    return { text: `You have no days off: ${error ?? status}.` };
  }
  const days = Number(/\d+/.exec(latestUserText(request))?.[0] ?? 0);
  if (days === 0) return { text: 'How many days do you want off?' };
  return { calls: [{ name: 'request_time_off', args: { days } }] };
};
