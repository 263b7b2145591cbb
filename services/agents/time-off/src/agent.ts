import { App, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { z } from 'zod';

/** The form that the manager fills in. */
const approval = z.object({ approvedDays: z.number().int().min(0) });

const requestTimeOff = new FunctionTool({
  name: 'request_time_off',
  description: 'Requests days off for the employee. The manager says how many of them are approved.',
  parameters: z.object({ days: z.number().int().min(1).describe('How many days off are wanted.') }),
  execute({ days }, context) {
    const answer = context?.toolConfirmation;
    if (!answer) {
      context?.requestConfirmation({
        hint: `${days} days off are wanted. Confirm with the number of days that you approve, in approvedDays.`,
        payload: { approvedDays: 0 },
        payloadSchema: approval,
      });
      return { status: 'the manager has to approve' };
    }
    const { approvedDays } = answer.confirmed ? approval.parse(answer.payload) : { approvedDays: 0 };
    const granted = Math.min(days, approvedDays);
    return granted === 0
      ? { status: 'rejected', approvedDays: 0 }
      : { status: 'ok', requestedDays: days, approvedDays: granted };
  },
});

export const timeOffAgent = new LlmAgent({
  name: 'time_off_agent',
  model: 'gemini-2.5-flash',
  description: 'Takes requests for days off.',
  instruction:
    'Pass requests for days off on with request_time_off, and tell the employee how many days were approved.',
  tools: [requestTimeOff],
});

export const timeOffApp = new App({ name: 'time_off_app', rootAgent: timeOffAgent });
