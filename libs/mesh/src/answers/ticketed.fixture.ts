import { type Context, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { type DeadLetter, deadLetterSchema, type OperationUpdateInput } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';

/** Makes an agent whose tool opens a ticket, and functions that send updates of its call. */
export async function ticketed(...answers: ConstructorParameters<typeof ScriptedLlm>) {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const seen: { subject?: string | undefined; callId?: string | undefined } = {};
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: 'asks a manager',
    execute: (_args, context?: Context) => {
      seen.subject = context?.operationSubject;
      seen.callId = context?.functionCallId;
      return { status: 'pending', ticket: 7 };
    },
  });
  const model = new ScriptedLlm(calls('approve'), says('I asked'), ...answers);
  await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), { app: 'app' });
  const chat = await world.chat('app');
  let sent = 0;
  const log = async () => (await world.sessions.getSession(chat.ref))?.events ?? [];
  return {
    ...chat,
    world,
    seen,
    model,
    log,
    briefs: async () => (await log()).map(brief),
    async update(update: OperationUpdateInput | unknown, subject = seen.subject ?? '', id?: string) {
      sent += 1;
      await chat.client.bus.enqueue(subject, update, { messageId: id ?? `update-${sent}` });
    },
    deadLetters: () => world.hub.queued(chat.client.subjects.dead('agent', 'solo')),
    async deadLetter(): Promise<DeadLetter> {
      const [letter = ''] = world.hub.queuedTexts(chat.client.subjects.dead('agent', 'solo')).slice(-1);
      return deadLetterSchema.parse(JSON.parse(letter));
    },
    drained: () => until(() => world.hub.queued(chat.client.subjects.workSubject('operation', 'solo')) === 0),
  };
}
