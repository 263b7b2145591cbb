import type { GenerateContentResponse } from '@google/genai';
import { expect, it } from 'vitest';
import { assemble } from './gemini-answer.ts';

async function* chunks(...candidates: object[]) {
  for (const candidate of candidates) yield { candidates: [candidate] } as GenerateContentResponse;
}

// Found by 50,000 random answers.
it('takes no call of an answer that was blocked before its last piece', async () => {
  const call = { name: 'note', partialArgs: [{ jsonPath: '$.x', numberValue: 1 }], willContinue: true };
  const answer = assemble(
    chunks(
      { content: { parts: [{ functionCall: call }] } },
      { finishReason: 'RECITATION' },
      { content: { parts: [{ functionCall: { args: {} } }] }, finishReason: 'STOP' },
    ),
    'gemini',
  );
  const [last] = (await Array.fromAsync(answer)).slice(-1);
  expect(last).toMatchObject({ errorCode: 'RECITATION' });
  expect(last?.content).toBeUndefined();
});
