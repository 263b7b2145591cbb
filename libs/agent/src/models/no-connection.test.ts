import { createServer } from 'node:net';
import { freePort } from '@agentmesh/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BaseLlm } from '../base/base-llm.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat } from '../harness.fixture.ts';
import { Gemini } from './gemini.ts';
import { OpenAiLlm } from './openai.ts';

const models: [string, (url: string) => BaseLlm][] = [
  [
    'Gemini',
    (baseUrl) => new Gemini({ model: 'm', apiKey: 'k', baseUrl, retryOptions: { initialDelay: 0 } }),
  ],
  ['OpenAiLlm', (baseUrl) => new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl, client: { maxRetries: 0 } })],
];

describe.each(models)('%s without a connection', (_name, modelAt) => {
  it.each([false, true])(
    'names the model, the host and the cause in the event and in the log (stream %s)',
    async (stream) => {
      const port = await freePort();
      const onFailure = vi.fn();
      const agent = new LlmAgent({ name: 'one', model: modelAt(`http://127.0.0.1:${port}/v1`) });
      const { say } = await chat(agent, undefined, { onFailure });
      const message = `model m cannot be reached at 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}; check the address and the network`;
      const events = await say('hi', { streamingMode: stream ? 'sse' : 'none' });
      expect(events.at(-1)).toMatchObject({ errorCode: 'unavailable', errorMessage: message });
      expect(onFailure).toHaveBeenCalledWith(
        expect.objectContaining({ what: 'model', error: expect.objectContaining({ message }) }),
      );
    },
  );

  it('says that a server has ended the connection within its answer', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
    const server = createServer((socket) => socket.once('data', () => socket.end(`${head}5\r\ndata`)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const agent = new LlmAgent({ name: 'one', model: modelAt(`http://127.0.0.1:${port}/v1`) });
    const { say } = await chat(agent, undefined, { onFailure: () => {} });
    const [event] = (await say('hi', { streamingMode: 'sse' })).slice(-1);
    expect(event?.errorMessage).toMatch(
      new RegExp(`^model m has ended the connection within its answer at 127\\.0\\.0\\.1:${port}: `),
    );
  });
});
