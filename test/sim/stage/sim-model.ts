import { setTimeout as delay } from 'node:timers/promises';
import type { BaseLlm } from '@agentmesh/agent';
import type { ModelReply, ModelScript } from '@agentmesh/testing';
import type { Ops } from '../faults/ops.ts';
import { type Life, never } from '../world/life.ts';

/** The pause between two pieces of a streamed answer, in ms. */
const chunkMs = 5;

type Generate = BaseLlm['generateContentAsync'];
type Request = Parameters<Generate>[0];
type Response = ReturnType<Generate> extends AsyncGenerator<infer R> ? R : never;

/** Puts a script in the place of a model. A question to it is an operation. */
export function scriptModel(
  model: BaseLlm,
  script: ModelScript,
  { ops, life }: { ops: Ops; life: Life },
): void {
  const question = async (request: Request, streaming: boolean): Promise<ModelReply> => {
    const { contents } = request;
    const asked = { model: model.model, contents, tools: [], generationConfig: {}, streaming, call: 1 };
    return await ops.ask(life, `model ${model.model}`, async (isCutOff) => {
      if (isCutOff()) return await never();
      // The script reads the contents alone.
      return await script(asked as never);
    });
  };
  model.generateContentAsync = async function* (request, stream, signal) {
    const isStreaming = stream ?? false;
    const reply = await question(request, isStreaming);
    const { delayMs = 0 } = reply;
    const waiting = signal ? { signal } : {};
    await delay(delayMs, undefined, waiting);
    if ('calls' in reply) {
      const parts = reply.calls.map(({ name, args = {} }) => ({ functionCall: { name, args } }));
      yield { content: { role: 'model', parts } } as Response;
      return;
    }
    const chunks = ('chunks' in reply ? reply.chunks : undefined) ?? [];
    for (const text of isStreaming ? chunks : []) {
      yield { partial: true, content: { role: 'model', parts: [{ text }] } } as Response;
      await delay(chunkMs, undefined, waiting);
    }
    yield { content: { role: 'model', parts: [{ text: chunks.join('') }] } } as Response;
  };
}
