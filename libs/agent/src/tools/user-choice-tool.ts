import { z } from 'zod';
import { LongRunningFunctionTool } from './function-tool.ts';

/**
 * The tool by which a model offers choices to the user. The call is pending until a function response holds
 * the choice.
 */
export const getUserChoiceTool = new LongRunningFunctionTool({
  name: 'get_user_choice',
  description: 'Shows the options to the user and asks for one of them.',
  parameters: z.object({ options: z.array(z.string()).min(1) }),
  execute(_choice, context) {
    if (context) context.actions.skipSummarization = true;
    return undefined;
  },
});
