import { FunctionTool } from '@agentmesh/agent';
import { z } from 'zod';
import { Ledger } from './ledger.ts';

/** The payments of the tool; its process opens them. */
export const ledger = new Ledger();

export const paymentTool = new FunctionTool({
  name: 'reimburse',
  description: 'Pays the employee an amount back.',
  parameters: z.object({
    purpose: z.string().describe('What the money was spent for.'),
    amount: z.number().positive().describe('The amount to pay back.'),
  }),
  async execute({ purpose, amount }, context) {
    // The id of the call stays the same when a process dies during the call and another process repeats it.
    const callId = context?.functionCallId;
    if (callId === undefined) return { status: 'error', error: 'a payment needs a call id' };
    return { status: 'ok', ...(await ledger.pay(callId, { amount, purpose })) };
  },
});
