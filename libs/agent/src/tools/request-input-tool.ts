import { z } from 'zod';
import { FunctionTool } from './function-tool.ts';

const parameters = z.object({
  message: z.string().describe('The question, in words that the user understands.'),
  choices: z.array(z.string()).min(1).optional().describe('The answers that there are, when there are few.'),
});

/** The tool by which a model asks the user for missing information. Its result is `{answer}`. */
export const requestInputTool = new FunctionTool({
  name: 'request_input',
  description: 'Asks the user for something that only the user knows, and gives the answer.',
  parameters,
  execute: ({ message, choices }, context) => {
    const answer = context?.inputResponse;
    if (answer !== undefined) return { answer };
    context?.requestInput({
      message,
      ...(choices && { responseSchema: { type: 'string', enum: choices } }),
    });
    return { status: 'the user was asked' };
  },
});
