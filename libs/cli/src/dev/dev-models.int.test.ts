import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { endProcess, latestUserText, startScriptedGemini } from '@agentmesh/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { linesOf } from '../commands.fixture.ts';
import { makeProject } from '../project.fixture.ts';
import { Dev } from './dev.fixture.ts';

interface Body {
  model: string;
  stream?: boolean;
  messages: { role: string; content: string | null }[];
  tools?: { function: { name: string } }[];
}

/** Starts a server of the chat completions interface, whose model calls `get_time` once and tells its result. */
async function startOpenAi() {
  const bodies: Body[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Body;
    bodies.push(body);
    if (JSON.stringify(body.messages.at(-1)).includes('fail')) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'this model is tired' } }));
      return;
    }
    const result = body.messages.findLast(({ role }) => role === 'tool')?.content;
    const call = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'get_time', arguments: '{"city":"Paris"}' },
    };
    const message = result
      ? { role: 'assistant', content: `It says ${result}` }
      : { role: 'assistant', content: null, reasoning_content: 'They want the time.', tool_calls: [call] };
    const reason = result ? 'stop' : 'tool_calls';
    if (body.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ model: 'tiny', choices: [{ index: 0, finish_reason: reason, message }] }),
      );
      return;
    }
    const pieces = result ? ['It ', `says ${result}`].map((content) => ({ content })) : [message];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const delta of pieces)
      response.write(`data: ${JSON.stringify({ model: 'tiny', choices: [{ index: 0, delta }] })}\n\n`);
    const end = { model: 'tiny', choices: [{ index: 0, delta: {}, finish_reason: reason }] };
    response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies };
}

describe('the models of agentmesh dev', () => {
  let dev: Dev | undefined;
  afterEach(async () => {
    if (dev) await endProcess(dev.child, 'SIGKILL');
    await dev?.project[Symbol.asyncDispose]();
    dev = undefined;
  });

  it('may be a model of any server with the interface of OpenAI, for agents that name a Gemini model', async () => {
    const { url, bodies } = await startOpenAi();
    dev = new Dev(await makeProject(), ['--servers', 'none', '--model', 'openai=tiny', '--model-url', url]);
    await dev.prints(/models {3}tiny at http/);
    expect(await dev.ask('What time is it in Paris?')).toMatch(/^It says .*Paris.*\d\d:/);
    expect(bodies[0]).toMatchObject({ model: 'tiny', tools: [{ function: { name: 'get_time' } }] });
    expect(bodies[0]?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    const thought = { role: 'assistant', reasoning_content: 'They want the time.' };
    expect(bodies[1]?.messages[2]).toMatchObject(thought);
    // Streamed pieces arrive once.
    const place = {
      env: { PATH: process.env.PATH },
      cwd: dev.project.root,
      answers: ['What time is it in Paris?'],
    };
    const chat = (await linesOf(place, ['chat', 'helper'])).join('\n');
    expect(chat.match(/It says/g)).toHaveLength(1);
    const streamed = bodies.filter(({ stream }) => stream);
    expect(streamed.at(-1)?.messages.at(-2)).toMatchObject(thought);
    expect(await linesOf(place, ['ask', 'helper', 'fail'])).toEqual([
      expect.stringMatching(/^✗ .*this model is tired/),
    ]);
  }, 120_000);

  it('may be at another server with the interface of Gemini', async () => {
    const script = (request: Parameters<typeof latestUserText>[0]) => ({
      text: `You said ${latestUserText(request)}`,
    });
    await using gemini = await startScriptedGemini({ script });
    dev = new Dev(await makeProject(), ['--servers', 'none', '--model-url', gemini.url]);
    await dev.prints(/the mesh is running/);
    expect(await dev.ask('hello')).toBe('You said hello');
  }, 120_000);

  it('say what they need', async () => {
    dev = new Dev(await makeProject(), ['--servers', 'none', '--model', 'openai=gpt']);
    await dev.prints(/no key for model gpt: set OPENAI_API_KEY/);
  }, 120_000);
});
