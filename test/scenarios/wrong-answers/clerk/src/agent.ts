import { type AuthConfig, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { z } from 'zod';

/** A tool that asks a person for days off. The answer must match a schema. */
const timeOff = new FunctionTool({
  name: 'time_off',
  description: 'asks for days off',
  parameters: z.object({ days: z.number() }),
  execute: (_args, context) => {
    if (context?.toolConfirmation) return { granted: context.toolConfirmation.payload };
    const payloadSchema = z.object({ approved_days: z.number().int().max(5), note: z.string().optional() });
    return context?.requestConfirmation({ hint: 'How many days?', payloadSchema });
  },
});

const account: AuthConfig = {
  credentialKey: 'account',
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://example.com/authorize',
        tokenUrl: 'https://example.com/token',
        scopes: { read: 'reads' },
      },
    },
  },
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'cid', clientSecret: 'SECRET' } },
};

const calendar = new FunctionTool({
  name: 'calendar',
  description: 'reads the calendar of the user',
  credentialKeys: ['account'],
  execute: (_args, context) =>
    context?.getAuthResponse(account) ? { entries: 2 } : context?.requestCredential(account),
});

const look = new FunctionTool({ name: 'look', description: 'looks', execute: () => ({ seen: 1 }) });

const trip = new FunctionTool({
  name: 'trip',
  description: 'books a trip',
  execute: (_args, context) =>
    context?.requestInput({ message: 'Where to?', responseSchema: z.object({ city: z.string() }) }),
});

export const clerk = new LlmAgent({
  name: 'clerk',
  model: 'gemini-test',
  tools: [timeOff, calendar, look, trip],
});
