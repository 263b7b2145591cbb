import { type SignInServer, startSignInServer } from '@agentmesh/testing/sign-in-server';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { getFunctionCalls } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

export let server: SignInServer;

/** Starts the authorization server for the tests of a file. */
export function withSignInServer(): void {
  beforeAll(async () => {
    server = await startSignInServer();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    server.tokenRequests.length = 0;
    server.answers = 'send';
  });
}

export function calendar(): AuthConfig {
  const { url, clientId, clientSecret, redirectUri } = server;
  const scopes = { openid: '', offline_access: '', calendar: '' };
  return {
    credentialKey: 'calendar',
    authScheme: {
      type: 'oauth2',
      flows: {
        authorizationCode: { authorizationUrl: `${url}/auth`, tokenUrl: `${url}/token`, scopes },
      },
    },
    rawAuthCredential: { authType: 'oauth2', oauth2: { clientId, clientSecret, redirectUri } },
  };
}

export function ownToken(): AuthConfig {
  const tokenUrl = `${server.url}/token`;
  const authScheme = {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl, scopes: { calendar: '' } } },
  } as const;
  return { ...calendar(), credentialKey: 'own', authScheme };
}

/** Makes a tool that says whether it has a token; with `refuses` it rejects the credential. */
export function eventsTool(
  config: AuthConfig,
  refuses: (credential: AuthCredential) => boolean = () => false,
) {
  const got: (AuthCredential | undefined)[] = [];
  const tool = new FunctionTool({
    name: 'events',
    description: 'lists events',
    execute(_args, context?: Context) {
      const credential = context?.getAuthResponse(config);
      got.push(credential);
      if (credential && !refuses(credential)) return { events: 2 };
      context?.requestCredential(config);
      if (context) context.actions.skipSummarization = true;
      return { pending: true };
    },
  });
  return { tool, got };
}

export const call = { calls: [{ name: 'events', args: {} }] };

export async function talk(tool: FunctionTool, ...says: Parameters<typeof scriptedModel>) {
  const { llm } = await scriptedModel(...says);
  return await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
}

/** Makes the client's answer after the user's sign-in. */
export async function signInTo(question: ReturnType<typeof getFunctionCalls>[number] | undefined) {
  const { authConfig } = (question?.args ?? {}) as { authConfig?: AuthConfig };
  const authResponseUri = await server.signIn(authConfig?.exchangedAuthCredential?.oauth2?.authUri ?? '');
  const oauth2 = { authResponseUri, tokenUrl: 'https://evil.example', clientSecret: 'mine' };
  return { exchangedAuthCredential: { authType: 'oauth2', oauth2 } };
}

export const questionIn = (events: Parameters<typeof getFunctionCalls>[0][]) =>
  events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');
