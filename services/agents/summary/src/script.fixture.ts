import { latestUserText, type ModelScript } from '@agentmesh/testing';

/** What stands in for a summary here: the first sentence, and how much there was. */
export const script: ModelScript = (request) => {
  const text = latestUserText(request);
  const first = /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
  return { text: `${first} (${text.split(/\s+/).filter(Boolean).length} words in all)` };
};
