import { AuthenticatedFunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

const { AUTH_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', REDIRECT_URI = '', MODEL_URL = '' } = process.env;

const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** A tool that asks the authorization server for the user who has signed in. */
export const calendar = new AuthenticatedFunctionTool({
  name: 'calendar',
  description: 'lists events',
  authConfig: {
    credentialKey: 'calendar',
    authScheme: {
      type: 'openIdConnect',
      openIdConnectUrl: `${AUTH_URL}/.well-known/openid-configuration`,
      scopes: ['openid', 'offline_access', 'calendar'],
    },
    rawAuthCredential: {
      authType: 'openIdConnect',
      oauth2: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, redirectUri: REDIRECT_URI },
    },
  },
  async execute(_input, { oauth2 }) {
    const headers = { authorization: `Bearer ${oauth2?.accessToken}` };
    const response = await fetch(`${AUTH_URL}/me`, { headers });
    return { status: response.status, ...((await response.json()) as object) };
  },
});

/** A tool that gets a token for the application, without a user. */
const rooms = new AuthenticatedFunctionTool({
  name: 'rooms',
  description: 'lists rooms',
  authConfig: {
    credentialKey: 'rooms',
    authScheme: {
      type: 'oauth2',
      flows: { clientCredentials: { tokenUrl: `${AUTH_URL}/token`, scopes: { calendar: 'all rooms' } } },
    },
    rawAuthCredential: {
      authType: 'oauth2',
      oauth2: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    },
  },
  execute: (_input, { oauth2 }) => ({ hasToken: (oauth2?.accessToken?.length ?? 0) > 20 }),
});

/** An agent that uses the tool in another process. */
export const planner = new LlmAgent({
  name: 'planner',
  description: 'plans',
  model,
  tools: [remoteTool('calendar')],
});

/** An agent with the tool in its own process. */
export const diary = new LlmAgent({
  name: 'diary',
  description: 'remembers',
  model,
  tools: [calendar, rooms],
});
