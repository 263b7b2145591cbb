import { type SignInServer, startSignInServer } from '@agentmesh/testing/sign-in-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuthConfig, AuthCredential } from './auth/auth-config.ts';
import { AuthenticatedFunctionTool } from './auth/authenticated-function-tool.ts';
import { InMemoryCredentialService } from './auth/in-memory-credential-service.ts';
import { InMemorySignInService } from './auth/in-memory-sign-in-service.ts';
import type { Context } from './context.ts';
import { getFunctionCalls } from './event.ts';
import { FunctionTool } from './function-tool.ts';
import { brief, chat, crashingChat, scriptedModel } from './harness.fixture.ts';
import { LlmAgent } from './llm-agent.ts';

let server: SignInServer;
beforeAll(async () => {
  server = await startSignInServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.tokenRequests.length = 0;
  server.answers = 'send';
});

function calendar(): AuthConfig {
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

function ownToken(): AuthConfig {
  const tokenUrl = `${server.url}/token`;
  const authScheme = {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl, scopes: { calendar: '' } } },
  } as const;
  return { ...calendar(), credentialKey: 'own', authScheme };
}

/** A tool that says whether it has a token; `refuses` makes it find the credential useless. */
function eventsTool(config: AuthConfig, refuses: (credential: AuthCredential) => boolean = () => false) {
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

const call = { calls: [{ name: 'events', args: {} }] };

async function talk(tool: FunctionTool, ...says: Parameters<typeof scriptedModel>) {
  const { llm } = await scriptedModel(...says);
  return await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
}

/** What a client sends when the user has come back. */
async function signInTo(question: ReturnType<typeof getFunctionCalls>[number] | undefined) {
  const { authConfig } = (question?.args ?? {}) as { authConfig?: AuthConfig };
  const authResponseUri = await server.signIn(authConfig?.exchangedAuthCredential?.oauth2?.authUri ?? '');
  const oauth2 = { authResponseUri, tokenUrl: 'https://evil.example', clientSecret: 'mine' };
  return { exchangedAuthCredential: { authType: 'oauth2', oauth2 } };
}

const questionIn = (events: Parameters<typeof getFunctionCalls>[0][]) =>
  events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');

describe('a sign-in', () => {
  it('is asked for once: the code becomes tokens, which the next calls find', async () => {
    const { tool, got } = eventsTool(calendar());
    const { say, answer, stored } = await talk(tool, call, { text: 'two' }, call, { text: 'still two' });
    const question = questionIn(await say('go'));
    expect((await answer(question?.id, await signInTo(question))).map(brief)).toEqual([
      'root: gets {"events":2}',
      'root: two',
    ]);
    expect(got.at(-1)?.oauth2).toEqual({
      clientId: server.clientId,
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresAt: expect.any(Number),
    });
    expect((await say('and now?')).map(brief)).toEqual([
      'root: calls events',
      'root: gets {"events":2}',
      'root: still two',
    ]);
    // The second call was made without it first, and at once again with what was saved.
    expect(got.map((credential) => credential !== undefined)).toEqual([false, true, false, true]);
    expect(server.tokenRequests).toHaveLength(1);
    const log = JSON.stringify(await stored());
    for (const secret of [server.clientSecret, got.at(-1)?.oauth2?.accessToken ?? '', 'code='])
      expect(log).not.toContain(secret);
  });

  it('is asked for again when the tool has no use for its token', async () => {
    let first: string | undefined;
    const { tool } = eventsTool(calendar(), ({ oauth2 }) => {
      first ??= oauth2?.accessToken;
      return oauth2?.accessToken === first;
    });
    const { say, answer } = await talk(tool, call, { text: 'two' });
    const one = questionIn(await say('go'));
    const two = questionIn(await answer(one?.id, await signInTo(one)));
    expect(two?.id).not.toBe(one?.id);
    const after = await answer(two?.id, await signInTo(two));
    expect(after.map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
    expect(server.tokenRequests.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('that the server refuses is an error for the model, which may ask again', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, call, { text: 'two' });
    const one = questionIn(await say('go'));
    const stale = await signInTo(one);
    stale.exchangedAuthCredential.oauth2.authResponseUri =
      stale.exchangedAuthCredential.oauth2.authResponseUri.replace(/code=[^&]+/, 'code=used-up');
    const again = await answer(one?.id, stale);
    expect(again.map(brief)[0]).toBe(
      'root: gets {"error":"tool events failed: the authorization server refused the code (invalid_grant)"}',
    );
    const two = questionIn(again);
    const after = await answer(two?.id, await signInTo(two));
    expect(after.map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
  });

  it('goes on when the server is back that could not be reached', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'two' });
    const question = questionIn(await say('go'));
    const signedIn = await signInTo(question);
    await server.down();
    await expect(answer(question?.id, signedIn)).rejects.toMatchObject({ code: 'unavailable' });
    await server.up();
    expect((await say('now?')).map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
    expect(server.tokenRequests).toHaveLength(1);
  });

  it('sends its code once, though no answer came', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'sorry' });
    const question = questionIn(await say('go'));
    server.answers = 'drop';
    const after = await answer(question?.id, await signInTo(question));
    expect(after.map(brief)[0]).toMatch(/could not be reached for the code/);
    expect(server.tokenRequests).toHaveLength(1);
  });

  it('survives processes that each die right after what they committed first', async () => {
    const { tool } = eventsTool(calendar());
    const { llm } = await scriptedModel(call, { text: 'two' });
    const { say, answer } = await crashingChat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
    const events = await say('go');
    const question = questionIn(events);
    expect(events.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual([
      'events',
      'adk_request_credential',
    ]);
    const after = await answer(question?.id, await signInTo(question));
    expect(after.map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
    expect(server.tokenRequests).toHaveLength(1);
  });
});

describe('a credential that can be had without a person', () => {
  it('is a token of the application itself', async () => {
    const { tool, got } = eventsTool(ownToken());
    const { say } = await talk(tool, call, { text: 'two' });
    expect((await say('go')).map(brief)).toEqual([
      'root: calls events',
      'root: gets {"events":2}',
      'root: two',
    ]);
    expect(got.at(-1)?.oauth2?.accessToken).toMatch(/./);
    expect(server.tokenRequests).toMatchObject([{ grantType: 'client_credentials', status: 200 }]);
  });

  it('is the key of the application', async () => {
    const rawAuthCredential = { authType: 'apiKey', apiKey: 'KEY' } as const;
    const { tool, got } = eventsTool({
      credentialKey: 'k',
      authScheme: { type: 'apiKey' },
      rawAuthCredential,
    });
    const { say } = await talk(tool, call, { text: 'two' });
    expect((await say('go')).map(brief)).toHaveLength(3);
    expect(got).toEqual([undefined, rawAuthCredential]);
  });

  it('is a saved one that was renewed; many calls renew it once', async () => {
    const { tool } = eventsTool(calendar());
    const five = { calls: Array.from({ length: 5 }, () => ({ name: 'events', args: {} })) };
    const { runner, say, answer } = await talk(tool, call, { text: 'two' }, five, { text: 'ten' });
    const question = questionIn(await say('go'));
    await answer(question?.id, await signInTo(question));
    const owner = { appName: 'app', userId: 'u' };
    const saved = await runner.credentialService.loadCredential(calendar(), owner);
    const expired = { authType: 'oauth2', oauth2: { ...saved?.oauth2, expiresAt: 1 } } as const;
    await runner.credentialService.saveCredential({ ...calendar(), exchangedAuthCredential: expired }, owner);
    const after = await say('all of them');
    expect(after.map(brief)).toEqual(['root: calls events', 'root: gets {"events":2}', 'root: ten']);
    expect(after[1]?.content?.parts).toHaveLength(5);
    expect(server.tokenRequests.map(({ grantType }) => grantType)).toEqual([
      'authorization_code',
      'refresh_token',
    ]);
  });

  it('is asked for after all when its refresh token is refused', async () => {
    const { tool } = eventsTool(calendar());
    const { runner, say } = await talk(tool, call);
    const dead = { authType: 'oauth2', oauth2: { accessToken: 'a', refreshToken: 'dead', expiresAt: 1 } };
    await runner.credentialService.saveCredential(
      { ...calendar(), exchangedAuthCredential: dead as AuthCredential },
      { appName: 'app', userId: 'u' },
    );
    expect(questionIn(await say('go'))).toBeDefined();
    expect(server.tokenRequests).toMatchObject([{ grantType: 'refresh_token', status: 400 }]);
  });

  it('is refused to the application: an error for the model', async () => {
    const config = ownToken();
    const oauth2 = { clientId: server.clientId, clientSecret: 'WRONG' };
    const { tool } = eventsTool({ ...config, rawAuthCredential: { authType: 'oauth2', oauth2 } });
    const { say } = await talk(tool, call, { text: 'sorry' });
    const told = (await say('go')).map(brief)[1];
    expect(told).toContain('refused the client');
    expect(told).not.toContain('WRONG');
  });
});

describe('the services', () => {
  it('are there by default, or those that the runner is given (ADK defect B6)', async () => {
    const credentialService = new InMemoryCredentialService();
    const signInService = new InMemorySignInService();
    const exchangedAuthCredential: AuthCredential = { authType: 'apiKey', apiKey: 'KEY' };
    const config: AuthConfig = { credentialKey: 'k', authScheme: { type: 'apiKey' } };
    const seen: unknown[] = [];
    const tool = new FunctionTool({
      name: 'events',
      description: 'lists events',
      async execute(_args, context) {
        seen.push(await context?.loadCredential(config));
        await context?.saveCredential({ ...config, exchangedAuthCredential });
        seen.push(await context?.loadCredential(config), context?.services.signInService === signInService);
        return 'done';
      },
    });
    const { llm } = await scriptedModel(call, { text: 'ok' });
    const agent = new LlmAgent({ name: 'root', model: llm, tools: [tool] });
    const { say } = await chat(agent, undefined, { credentialService, signInService });
    await say('go');
    expect(seen).toEqual([undefined, exchangedAuthCredential, true]);
    const owner = { appName: 'app', userId: 'u' };
    expect(await credentialService.loadCredential(config, owner)).toEqual(exchangedAuthCredential);
  });
});

describe('an authenticated function tool', () => {
  it('hands the credential to its function, which does not run without', async () => {
    const runs: unknown[] = [];
    const tool = new AuthenticatedFunctionTool({
      name: 'events',
      description: 'lists events',
      authConfig: { credentialKey: 'maps', authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      execute(_input, { apiKey }, context) {
        runs.push([apiKey, context.functionCallId]);
        return { events: 2 };
      },
    });
    const { say, answer } = await talk(tool as FunctionTool, call, { text: 'two' });
    const events = await say('go');
    expect(events.map(brief)[2]).toBe(
      'root: gets {"status":"pending","message":"waits for the user to sign in"}',
    );
    expect(runs).toEqual([]);
    const exchangedAuthCredential = { authType: 'apiKey', apiKey: 'KEY' };
    const after = await answer(questionIn(events)?.id, { exchangedAuthCredential });
    expect(after.map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
    expect(runs).toEqual([['KEY', events.flatMap(getFunctionCalls)[0]?.id]]);
  });

  it('needs a credential key', () => {
    const authConfig = { credentialKey: '', authScheme: { type: 'apiKey' } } as const;
    expect(
      () => new AuthenticatedFunctionTool({ name: 't', description: '', authConfig, execute: () => 1 }),
    ).toThrow('needs a credentialKey');
  });
});
