import { latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: a call that kills the agent, a late answer, or an answer. */
export const script: ModelScript = (request) => {
  const text = latestUserText(request);
  if (text.includes('crash')) return { calls: [{ name: 'crash', args: {} }] };
  if (text.includes('slowly')) return { text: 'That took a while.', delayMs: 4_000 };
  return { text: 'Done.' };
};
