// The process of a model behind the chat completions interface: a server with Gemini's interface that passes
// each request on to OpenAI, or to another server with the interface of OpenAI.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { BaseLlm, LlmRequest, LlmResponse } from '@agentmesh/agent';
import { MeshError, parse } from '@agentmesh/protocol';
import { runMain } from '@agentmesh/service';
import { z } from 'zod';

const [name = '', url = '', port = '0'] = process.argv.slice(2);

const modelPath = /^\/v1(?:beta|alpha)?\/models\/[^/:]+:(generateContent|streamGenerateContent)$/;

const content = z.looseObject({ parts: z.array(z.looseObject({ text: z.string().optional() })).optional() });
const bodySchema = z.looseObject({
  contents: z.array(content),
  systemInstruction: content.optional(),
  tools: z.array(z.looseObject({})).optional(),
  toolConfig: z.looseObject({}).optional(),
  generationConfig: z.looseObject({}).optional(),
});

await runMain({
  name: 'model',
  async start(_config, { log }) {
    const llm = await openModel(process.env.OPENAI_API_KEY);
    const server = createServer((incoming, outgoing) => {
      pass(llm, incoming, outgoing).catch((err: unknown) => {
        log.warn({ err }, 'the model failed');
        refuse(outgoing, err);
      });
    });
    server.listen(Number(port), '127.0.0.1');
    await once(server, 'listening');
    log.info({ addresses: [{ address: '127.0.0.1', port: Number(port) }], model: name }, 'listening');
    return {
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  },
});

/** Makes the model. @throws MeshError `failed_precondition` without the package `openai`, or without a key */
async function openModel(apiKey: string | undefined): Promise<BaseLlm> {
  try {
    const { OpenAiLlm } = await import('@agentmesh/agent/openai');
    // A server of one's own needs no key, but the client does.
    const key = apiKey ?? (url === '' ? undefined : 'none');
    const llm = new OpenAiLlm({
      model: name,
      ...(key !== undefined && { apiKey: key }),
      ...(url !== '' && { baseUrl: url }),
    });
    const [problem] = llm.keyProblems();
    if (problem === undefined) return llm;
    throw new MeshError('failed_precondition', problem);
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new MeshError('failed_precondition', 'the package openai is missing: npm install openai', {
      cause: error,
    });
  }
}

/** Answers one request of the client of Gemini. */
async function pass(llm: BaseLlm, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { pathname } = new URL(incoming.url ?? '/', 'http://localhost');
  const method = modelPath.exec(pathname)?.[1];
  if (incoming.method !== 'POST' || method === undefined)
    throw new MeshError('not_found', `model ${name} has no method ${incoming.method} ${pathname}`);
  const request = requestOf(parse(bodySchema, await json(incoming), 'the request to the model'));
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const isStream = method === 'streamGenerateContent';
  const answers = llm.generateContentAsync(request, isStream, gone.signal);
  if (!isStream) {
    for await (const answer of answers) send(outgoing, 200, geminiResponse(answer));
    return;
  }
  let hasPieces = false;
  for await (const answer of answers) {
    if (!outgoing.headersSent) outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    const rest = answer.partial ? withoutThoughts(answer) : hasPieces ? withoutText(answer) : answer;
    if (answer.partial && rest.content?.parts?.length === 0) continue;
    const piece = geminiResponse(rest);
    hasPieces ||= answer.partial === true;
    outgoing.write(`data: ${JSON.stringify(piece)}\r\n\r\n`);
  }
  outgoing.end();
}

function requestOf(body: z.infer<typeof bodySchema>): LlmRequest {
  const { contents, systemInstruction, tools, toolConfig, generationConfig } = body;
  const system = systemInstruction?.parts?.map(({ text = '' }) => text).join('\n');
  return {
    model: name,
    contents: contents.map((each) => ({ ...each, parts: (each.parts ?? []).map(unsigned) })),
    config: {
      ...generationConfig,
      ...(system && { systemInstruction: system }),
      ...(tools && { tools }),
      ...(toolConfig && { toolConfig }),
    },
  } as LlmRequest;
}

/** Leaves thoughts out of a piece: they go out whole, with what their server wants back. */
function withoutThoughts(answer: LlmResponse): LlmResponse {
  return {
    ...answer,
    content: { role: 'model', parts: (answer.content?.parts ?? []).filter(({ thought }) => !thought) },
  };
}

/** Leaves the text out of the last answer of a stream: its pieces were sent before. */
function withoutText(answer: LlmResponse): LlmResponse {
  const parts = (answer.content?.parts ?? []).filter(({ text, thought }) => text === undefined || thought);
  return { ...answer, content: { role: 'model', parts } };
}

function geminiResponse({
  content: said,
  finishReason,
  usageMetadata,
  modelVersion,
  errorMessage,
}: LlmResponse) {
  const candidate = {
    index: 0,
    ...(said && { content: { ...said, parts: said.parts?.map(signed) } }),
    ...(finishReason && { finishReason }),
    ...(errorMessage !== undefined && { finishMessage: errorMessage }),
  };
  return { candidates: [candidate], ...(usageMetadata && { usageMetadata }), modelVersion };
}

type Part = NonNullable<NonNullable<LlmResponse['content']>['parts']>[number];

/** Writes what a server of chat completions wants back with a part as a signature, which clients of Gemini keep. */
function signed({ partMetadata, ...part }: Part): Part {
  if (!partMetadata) return part;
  return { ...part, thoughtSignature: Buffer.from(JSON.stringify(partMetadata)).toString('base64') };
}

function unsigned({ thoughtSignature, ...part }: Part): Part {
  if (thoughtSignature === undefined) return part;
  try {
    return { ...part, partMetadata: JSON.parse(Buffer.from(thoughtSignature, 'base64').toString()) };
  } catch {
    // The signature of another model, from an earlier turn.
    return part;
  }
}

function refuse(outgoing: ServerResponse, error: unknown): void {
  // A stream that has begun can only be cut.
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  // Errors of the client of OpenAI have the status of the answer.
  const given = Reflect.get(Object(error), 'status');
  const status = typeof given === 'number' ? given : MeshError.from(error).code === 'not_found' ? 404 : 400;
  const message = error instanceof Error ? error.message : String(error);
  send(outgoing, status, { error: { code: status, status: 'UNKNOWN', message } });
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
  outgoing.end(JSON.stringify(body));
}
