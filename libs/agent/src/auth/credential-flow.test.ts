import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { getFunctionCalls } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, crashingChat, scriptedModel } from '../harness.fixture.ts';
import {
  calendar,
  call,
  eventsTool,
  questionIn,
  server,
  signInTo,
  talk,
  withSignInServer,
} from './sign-in.fixture.ts';

withSignInServer();

describe('a sign-in', () => {
  it('is requested once: the code is redeemed for tokens, which the next calls find', async () => {
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
    // The tool ran first without the credential, and then at once again with the saved one.
    expect(got.map((credential) => credential !== undefined)).toEqual([false, true, false, true]);
    expect(server.tokenRequests).toHaveLength(1);
    const log = JSON.stringify(await stored());
    for (const secret of [server.clientSecret, got.at(-1)?.oauth2?.accessToken ?? '', 'code='])
      expect(log).not.toContain(secret);
  });

  it('is requested again when the tool rejects its token', async () => {
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

  it('continues when an unreachable server is back', async () => {
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

  it('survives processes that die right after their first commit', async () => {
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

  it('fails for the model when its code has expired before the server is back', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'sorry' });
    const question = questionIn(await say('go'));
    const signedIn = await signInTo(question);
    await server.down();
    await expect(answer(question?.id, signedIn)).rejects.toMatchObject({ code: 'unavailable' });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11 * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect((await say('now?')).map(brief)[0]).toMatch(/could not be reached for the code/);
    vi.useRealTimers();
    await server.up();
  });

  it('is requested again when its answer comes after a day', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'two' });
    const question = questionIn(await say('go'));
    const signedIn = await signInTo(question);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const again = questionIn(await answer(question?.id, signedIn));
    expect(again?.id).not.toBe(question?.id);
    expect(server.tokenRequests).toEqual([]);
  });

  it('is refused when its answer is empty or null', async () => {
    const { tool } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'two' });
    const question = questionIn(await say('go'));
    const empty = { exchangedAuthCredential: { authType: 'oauth2', oauth2: { authCode: null } } };
    await expect(answer(question?.id, empty)).rejects.toMatchObject({ code: 'invalid_argument' });
    const odd = { exchangedAuthCredential: { authType: 'oauth2', oauth2: { authCode: 7 } } };
    await expect(answer(question?.id, odd)).rejects.toMatchObject({ code: 'invalid_argument' });
    const { exchangedAuthCredential } = await signInTo(question);
    const given = { exchangedAuthCredential: { ...exchangedAuthCredential, apiKey: null, http: null } };
    expect((await answer(question?.id, given)).map(brief)).toEqual(['root: gets {"events":2}', 'root: two']);
  });

  it('accepts tokens that the client fetched itself', async () => {
    const { tool, got } = eventsTool(calendar());
    const { say, answer } = await talk(tool, call, { text: 'two' });
    const question = questionIn(await say('go'));
    const oauth2 = { accessToken: 'theirs', expiresIn: 60 };
    await answer(question?.id, { exchangedAuthCredential: { oauth2 } });
    expect(got.at(-1)).toEqual({
      authType: 'oauth2',
      oauth2: {
        clientId: server.clientId,
        accessToken: 'theirs',
        expiresAt: expect.closeTo(Date.now() / 1000 + 60, -1),
      },
    });
  });
});
