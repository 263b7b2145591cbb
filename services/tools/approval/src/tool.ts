import { LongRunningFunctionTool } from '@agentmesh/agent';
import { z } from 'zod';

/** So long a manager has to answer, in ms: a week. */
const answerWithinMs = 7 * 86_400_000;

/**
 * Opens a ticket, and that is all it does. The call stays open without any process; the manager's answer is published on its operation
 * subject, as `docs/examples/approve.mjs` does.
 */
export const approvalTool = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks the manager to approve that the employee gets money back.',
  parameters: z.object({
    purpose: z.string().describe('What the money was spent for.'),
    amount: z.number().positive().describe('The amount to pay back.'),
  }),
  answerWithinMs,
  execute({ purpose, amount }, context) {
    // Named by the call: made again after a crash, it is the same ticket.
    return { status: 'pending', ticketId: `ticket-${context?.functionCallId}`, amount, purpose };
  },
});
