import { expect, it } from 'vitest';
import { toolResultSchema } from './command.ts';

it('accepts a result of a long-running tool without a response', () => {
  expect(toolResultSchema.parse(JSON.parse(JSON.stringify({ response: undefined })))).toEqual({});
});
