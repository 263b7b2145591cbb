import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  type AuthConfig,
  AuthenticatedFunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  stringifyContent,
} from '@agentmesh/agent';
import type { Part } from '@google/genai';

const { AUTH_URL, CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;

// The function runs only when there is a credential. It need not know where the credential comes from.
const whoAmI = new AuthenticatedFunctionTool({
  name: 'who_am_i',
  description: 'Tells who has signed in.',
  authConfig: {
    credentialKey: 'directory',
    authScheme: {
      type: 'openIdConnect',
      openIdConnectUrl: `${AUTH_URL}/.well-known/openid-configuration`,
      scopes: ['openid', 'offline_access'],
    },
    rawAuthCredential: {
      authType: 'openIdConnect',
      oauth2: {
        clientId: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        redirectUri: 'http://localhost/callback',
      },
    },
  },
  async execute(_input, { oauth2 }) {
    const headers = { authorization: `Bearer ${oauth2?.accessToken}` };
    return await (await fetch(`${AUTH_URL}/me`, { headers })).json();
  },
});

const agent = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools: [whoAmI] });
const runner = new InMemoryRunner({ agent, appName: 'examples' });
const session = { userId: 'ann', sessionId: 's1' };
await runner.sessionService.createSession({ appName: 'examples', ...session });

async function send(part: Part) {
  const newMessage = { role: 'user', parts: [part] };
  const events = await Array.fromAsync(runner.runAsync({ ...session, newMessage }));
  for (const event of events) {
    for (const { name } of getFunctionCalls(event)) console.log(`${event.author} calls ${name}`);
    const words = stringifyContent(event);
    if (words) console.log(`${event.author}: ${words}`);
  }
  return events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');
}

const question = await send({ text: 'Who am I?' });
const { authConfig } = (question?.args ?? {}) as { authConfig?: AuthConfig };
console.log(`Sign in at ${authConfig?.exchangedAuthCredential?.oauth2?.authUri}`);
console.log('and paste the address that you came back to:');
const input = createInterface(process.stdin);
const [authResponseUri] = await once(input, 'line');
input.close();
// The address to which the user was redirected is the answer. The tool's process exchanges the code in it for
// tokens.
const response = { exchangedAuthCredential: { authType: 'openIdConnect', oauth2: { authResponseUri } } };
const { id = '', name = '' } = question ?? {};
await send({ functionResponse: { id, name, response } });
await send({ text: 'Are you sure?' }); // The tokens are kept: nobody is asked again.
