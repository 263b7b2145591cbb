import { z } from 'zod';
import { LongRunningFunctionTool } from './function-tool.ts';

/** Lets a model offer choices to the user: the call waits until a function response tells what was chosen. */
export const getUserChoiceTool = new LongRunningFunctionTool({
  name: 'get_user_choice',
  description: 'Shows the options to the user and asks for one of them.',
  parameters: z.object({ options: z.array(z.string()).min(1) }),
  execute(_choice, context) {
    if (context) context.actions.skipSummarization = true;
    return undefined;
  },
});
