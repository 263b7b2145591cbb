import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: have the file processed, report the progress, and in the end the result. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result) {
    const { status, progress, name, lines, words, error } = result.response ?? {};
    if (status === 'completed') return { text: `${name} has ${lines} lines and ${words} words.` };
    if (status === 'running') return { text: `${progress} is done; I will tell you the rest.` };
    return { text: status === 'pending' ? 'It has not begun yet.' : `It failed: ${error}.` };
  }
  const text = latestUserText(request);
  const megabytes = Number(/(\d+) ?MB/.exec(text)?.[1] ?? 0);
  if (megabytes === 0) return { text: 'Which file, and how many MB does it have?' };
  const name = /\b[\w-]+\.\w+\b/.exec(text)?.[0] ?? 'file.txt';
  return { calls: [{ name: 'process_large_file', args: { name, megabytes } }] };
};
