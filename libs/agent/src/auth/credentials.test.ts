import { describe, expect, it } from 'vitest';
import type { Context } from '../base/context.ts';
import type { AuthConfig } from '../credentials/auth-config.ts';
import { getFunctionCalls } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

const calendar: AuthConfig = {
  credentialKey: 'calendar',
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://example.com/authorize?x=1',
        tokenUrl: 'https://example.com/token',
        scopes: { read: 'reads', write: 'writes' },
      },
    },
  },
  rawAuthCredential: {
    authType: 'oauth2',
    oauth2: { clientId: 'cid', clientSecret: 'SECRET', redirectUri: 'http://localhost/cb' },
  },
};

/** Makes a tool that needs the user's sign-in, and the list of the credentials that it received. */
function calendarTool(config: AuthConfig) {
  const got: unknown[] = [];
  const tool = new FunctionTool({
    name: 'events',
    description: 'lists events',
    execute: (_args, context?: Context) => {
      const credential = context?.getAuthResponse(config);
      got.push(credential);
      if (credential) return { events: 2 };
      context?.requestCredential(config);
      return { pending: true };
    },
  });
  return { tool, got };
}

const asking = { calls: [{ name: 'events', args: {} }] };

describe('a tool that asks for a credential', () => {
  it('shows the client how to sign in, in camelCase, and no secret anywhere (ADK defect B11)', async () => {
    const { llm } = await scriptedModel(asking, { text: 'two' });
    const { tool, got } = calendarTool(calendar);
    const { say, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
    const events = await say('what is on?');
    expect(events.map(brief)).toEqual([
      'root: calls events',
      'root: calls adk_request_credential',
      'root: gets {"pending":true}',
    ]);
    const [call, question] = events.flatMap(getFunctionCalls);
    const { functionCallId, authConfig } = (question?.args ?? {}) as {
      functionCallId: string;
      authConfig: AuthConfig;
    };
    expect(functionCallId).toBe(call?.id);
    expect(events[1]?.longRunningToolIds).toEqual([question?.id]);
    const { authUri = '', state = '' } = authConfig.exchangedAuthCredential?.oauth2 ?? {};
    expect(Object.fromEntries(new URL(authUri).searchParams)).toEqual({
      x: '1',
      client_id: 'cid',
      redirect_uri: 'http://localhost/cb',
      response_type: 'code',
      scope: 'read write',
      state,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      access_type: 'offline',
      prompt: 'consent',
    });
    expect(authConfig.rawAuthCredential).toEqual({
      authType: 'oauth2',
      oauth2: { clientId: 'cid', redirectUri: 'http://localhost/cb' },
    });
    expect(got).toEqual([undefined]);
    expect(JSON.stringify(await stored())).not.toMatch(/SECRET|codeVerifier|function_call_id/);
  });

  it('refuses the answer to another sign-in', async () => {
    const { llm } = await scriptedModel(asking);
    const { tool } = calendarTool(calendar);
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
    const [, question] = (await say('go')).flatMap(getFunctionCalls);
    const oauth2 = { authResponseUri: 'http://localhost/cb?code=CODE&state=other' };
    await expect(
      answer(question?.id, { exchangedAuthCredential: { authType: 'oauth2', oauth2 } }),
    ).rejects.toMatchObject({ code: 'permission_denied' });
    await expect(answer(question?.id, { ok: true })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('takes an API key; it is there for the invocation and in no event, also when processes die', async () => {
    const config: AuthConfig = {
      credentialKey: 'maps',
      authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' },
    };
    const { llm } = await scriptedModel(asking, { text: 'two' });
    const { tool, got } = calendarTool(config);
    const { say, answer } = await crashingChat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
    const events = await say('go');
    expect(events.map(brief)).toEqual(['root: calls events', 'root: calls adk_request_credential']);
    const [, question] = events.flatMap(getFunctionCalls);
    const exchangedAuthCredential = { authType: 'apiKey', apiKey: 'KEY' };
    const after = await answer(question?.id, { exchangedAuthCredential });
    expect(after.map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
    expect(got.at(-1)).toEqual(exchangedAuthCredential);
    expect(JSON.stringify([events, after])).not.toContain('KEY"');
  });
});
