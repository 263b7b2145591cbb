import { AgentTool, LlmAgent } from '@agentmesh/agent';
import { type CardInput, cardSchema, type ErrorCode, errorTable, MeshError } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { pauseBeforeRetry } from '../runs/settle-run.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { callService } from './call-service.ts';
import { remoteAgent } from './remote-agent.ts';
import { remoteTool } from './remote-tool.ts';

const codes = Object.keys(errorTable) as ErrorCode[];
const peers: { kind: 'tool' | 'agent'; card: CardInput }[] = [
  {
    kind: 'tool',
    card: { kind: 'tool', name: 'pay', version: '1.0.0', description: 'pays', declaration: { name: 'pay' } },
  },
  { kind: 'agent', card: { kind: 'agent', name: 'pay', version: '1.0.0', description: 'pays' } },
];

/** Serves a tool or an agent that answers every request with an error. */
async function rudePeer({ kind, card }: (typeof peers)[number], error: MeshError) {
  const world = memoryMesh();
  const peer = await world.connect(`${kind}_pay`);
  await peer.bus.announce(cardSchema.parse(card));
  const subject = kind === 'tool' ? peer.subjects.toolCall('pay') : peer.subjects.agentDelegate('pay');
  // biome-ignore lint/correctness/useYield: it only fails
  await peer.bus.serve(subject, async function* () {
    throw error;
  });
  return { world, peer, subject };
}

describe.each(peers)('the errors of another $kind', (peer) => {
  it.each(codes)('%s is told to the model, whatever marks of the own process it has', async (code) => {
    for (const reason of ['message_refused', 'asked_again', 'no_responders', 'silence']) {
      const { world } = await rudePeer(peer, new MeshError(code, 'rude', { details: { reason } }));
      const model = new ScriptedLlm(calls('pay', { request: 'x' }), says('well'));
      const tool = peer.kind === 'tool' ? remoteTool('pay') : new AgentTool({ agent: remoteAgent('pay') });
      await serveAgent(
        await world.connect('agent_root'),
        new LlmAgent({ name: 'root', model, tools: [tool] }),
        {
          app: 'app',
        },
      );
      const { say } = await world.chat('app');
      expect((await say('go')).end).toMatchObject({ status: 'completed' });
    }
  });

  it.each([
    ['aborted', 'x'],
    ['unavailable', 'credentials'],
    ['unavailable', 'no_responders'],
    ['aborted', 'silence'],
  ] as const)(
    'do not take the run of the caller from it, and cause a dozen deliveries at most: %s %s',
    async (code, reason) => {
      const { world, subject } = await rudePeer(peer, new MeshError(code, 'rude', { details: { reason } }));
      const caller = await world.connect('agent_root');
      const callee = { subject, target: { to: 'pay', kind: peer.kind }, isKnown: () => true };
      const answers = Array.fromAsync(callService(caller, callee, {}, {}));
      const error = await answers.then(
        () => new MeshError('internal', 'no error'),
        (thrown) => MeshError.from(thrown),
      );
      expect(error.code).toBe('unavailable');
      const pauses = Array.from({ length: 13 }, (_, at) => pauseBeforeRetry(error, at + 1));
      expect(pauses.slice(0, 3)).toEqual([250, 500, 1_000]);
      expect(pauses.slice(9)).toEqual([30_000, 30_000, undefined, undefined]);
      // A server that is away, and a callee that is, are waited for.
      expect(pauseBeforeRetry(new MeshError('unavailable', 'no server'), 100)).toBe(250);
    },
  );
});
