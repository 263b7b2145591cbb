import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: have the document analysed, then say where the analysis is. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, analysisArtifact, version, available, error } = result.response ?? {};
    if (status === 'success') return { text: `The analysis is in ${analysisArtifact}, version ${version}.` };
    const names = Array.isArray(available) ? available.join(', ') : '';
    return {
      text: error ? `It failed: ${error}.` : `There is no such document; there are: ${names || 'none'}.`,
    };
  }
  const text = latestUserText(request);
  const [documentName] = /[\w-]+\.\w+/.exec(text) ?? [];
  const [, analysisQuery] = / for (.+?)[.?!]*$/.exec(text) ?? [];
  if (documentName === undefined) return { text: 'Which document, and what do you want to know?' };
  const args = { documentName, analysisQuery: analysisQuery ?? 'what it says' };
  return { calls: [{ name: 'process_document', args }] };
};
