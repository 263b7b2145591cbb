import { latestUserText, type ModelScript } from '@agentmesh/testing';

/** A stand-in for a summary: the first sentence, and the number of words. */
export const script: ModelScript = (request) => {
  const text = latestUserText(request);
  const first = /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
  return { text: `${first} (${text.split(/\s+/).filter(Boolean).length} words in all)` };
};
