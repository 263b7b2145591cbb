import { LongRunningFunctionTool } from '@agentmesh/agent';
import { z } from 'zod';

/** Time that a manager has to answer, in ms: a week. */
const answerWithinMs = 7 * 86_400_000;

/**
 * A tool that only opens a ticket. The call stays open without any process; the manager's answer is published
 * on its operation subject, as `docs/examples/approve.mjs` does.
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
    // The name contains the call id, so a repetition of the call after a crash has the same ticket.
    return { status: 'pending', ticketId: `ticket-${context?.functionCallId}`, amount, purpose };
  },
});
