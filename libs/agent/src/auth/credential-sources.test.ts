import { describe, expect, it } from 'vitest';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { InMemoryCredentialService } from '../credentials/in-memory-credential-service.ts';
import { InMemorySignInService } from '../credentials/in-memory-sign-in-service.ts';
import { getFunctionCalls } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { AuthenticatedFunctionTool } from '../tools/authenticated-function-tool.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import {
  calendar,
  call,
  eventsTool,
  ownToken,
  questionIn,
  server,
  signInTo,
  talk,
  withSignInServer,
} from './sign-in.fixture.ts';

withSignInServer();

describe('a credential that is available without a person', () => {
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

  it.each<AuthCredential>([
    { authType: 'apiKey', apiKey: 'KEY' },
    { authType: 'http', http: { scheme: 'bearer', credentials: { token: 'KEY' } } },
    { authType: 'http', http: { scheme: 'basic', credentials: { username: 'app', password: 'KEY' } } },
    { authType: 'oauth2', oauth2: { accessToken: 'KEY' } },
  ])('is the key of the application: %o', async (rawAuthCredential) => {
    const authScheme = { type: rawAuthCredential.authType } as AuthConfig['authScheme'];
    const { tool, got } = eventsTool({ credentialKey: 'k', authScheme, rawAuthCredential });
    const { say, stored } = await talk(tool, call, { text: 'two' });
    expect((await say('go')).map(brief)).toHaveLength(3);
    expect(got).toEqual([undefined, rawAuthCredential]);
    expect(JSON.stringify(await stored())).not.toContain('KEY');
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

  it('is requested from a person when its refresh token is refused', async () => {
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

  it('that is refused to the application is an error for the model', async () => {
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
  it('are defaults, or the ones that the runner receives (ADK defect B6)', async () => {
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

describe('a callback', () => {
  it('that requests a credential runs again with it before the tool runs', async () => {
    const config: AuthConfig = { credentialKey: 'door', authScheme: { type: 'apiKey' } };
    let runs = 0;
    const tool = new FunctionTool({
      name: 'events',
      description: 'lists',
      execute: () => ({ runs: ++runs }),
    });
    const { llm } = await scriptedModel(call, { text: 'ok' }, call, { text: 'ok' });
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      tools: [tool],
      beforeToolCallback({ context }) {
        if (context.getAuthResponse(config)) return undefined;
        context.requestCredential(config);
        return { status: 'closed' };
      },
    });
    const { say, answer } = await chat(agent);
    const events = await say('go');
    expect(events.map(brief)[2]).toBe('root: gets {"status":"closed"}');
    const exchangedAuthCredential = { authType: 'apiKey', apiKey: 'KEY' };
    const after = await answer(questionIn(events)?.id, { exchangedAuthCredential });
    expect(after.map(brief)[0]).toBe('root: gets {"runs":1}');
    expect((await say('again')).map(brief)).toEqual([
      'root: calls events',
      'root: gets {"runs":2}',
      'root: ok',
    ]);
  });
});
