import { startRudeServer } from '@agentmesh/testing';
import type { Part } from '@google/genai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEvent } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat } from '../harness.fixture.ts';
import { modelKinds, strictly } from '../models/rude-models.fixture.ts';

const unfit: object[] = [
  { text: 'hi', partMetadata: 5 },
  { executableCode: { code: 'x', language: {} } },
  { fileData: { fileUri: 'http://x/y.png', mimeType: 5 } },
  { functionCall: { name: 'f', args: [1] } },
];
const bare: object[] = [{ toolCall: {} }, { toolResponse: {} }, { fileData: { mimeType: 'image/png' } }];

describe.each(modelKinds)('a part that $name cannot read', (kind) => {
  /** Starts a session with a strict server, and sends a part. */
  async function started() {
    const server = await startRudeServer((request) => strictly(kind, request));
    onTestFinished(() => server.close());
    const talk = await chat(new LlmAgent({ name: 'root', model: kind.make(server.url) }), undefined, {
      onFailure: () => {},
    });
    const { runner, say, stored } = talk;
    const session = await stored();
    const send = (part: object) =>
      Array.fromAsync(runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: { parts: [part] } }));
    const goOn = async () => (await say('and now?')).at(-1)?.content?.parts;
    return { server, runner, stored, send, goOn };
  }

  it.each(unfit)('is refused, and changes nothing: %j', async (part) => {
    const { send, stored, goOn } = await started();
    const before = await stored();
    await expect(send(part)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('the message is not valid: parts.0.'),
    });
    expect(await stored()).toEqual(before);
    expect(await goOn()).toEqual([{ text: 'well' }]);
  });

  it.each([...unfit, ...bare])('does not end a session that holds it: %j', async (part) => {
    const { server, runner, stored, goOn } = await started();
    const event = createEvent({
      invocationId: 'e-old',
      author: 'user',
      content: { role: 'user', parts: [{ text: 'see' }, part as Part] },
    });
    await runner.sessionService.appendEvent({ session: await stored(), event });
    expect(await goOn()).toEqual([{ text: 'well' }]);
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    expect(sent).toContain('see');
    expect(sent.includes('[a part that no model can read]')).toBe(unfit.includes(part));
  });

  it.each(bare)('is left out when it has no data: %j', async (part) => {
    const { send, goOn } = await started();
    await send(part);
    expect(await goOn()).toEqual([{ text: 'well' }]);
  });
});
