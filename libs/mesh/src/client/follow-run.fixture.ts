import { createEvent } from '@agentmesh/agent';
import { type Event, MeshError } from '@agentmesh/protocol';
import { createMesh } from '../connect/create-mesh.ts';
import { memoryMesh } from '../harness.fixture.ts';
import { publishEnd, publishEvent } from '../messages/publish-event.ts';
import type { NumberedEvent } from './log-reader.ts';

export const invocationId = 'e-1';

/**
 * Makes a session in which the test plays an agent at work on an invocation, and a client that counts its
 * subscriptions.
 */
export async function world() {
  const { sessions, connect } = memoryMesh();
  const agent = await connect('agent_a');
  const mesh = await connect('client');
  let listening = 0;
  const bus: typeof mesh.bus = {
    ...mesh.bus,
    directory: mesh.bus.directory,
    async subscribe(...args) {
      const started = await mesh.bus.subscribe(...args);
      listening += 1;
      const stop = async () => {
        listening -= 1;
        await started.stop();
      };
      let stopped: Promise<void> | undefined;
      return { stop: () => (stopped ??= stop()) };
    },
  };
  const session = await sessions.createSession({ appName: 'app', userId: 'u' });
  const ref = { appName: 'app', userId: 'u', sessionId: session.id, invocationId };
  const commit = async (text: string, more: Partial<Event> = {}, told = true) => {
    const event = createEvent({
      invocationId,
      author: 'a',
      content: { role: 'model', parts: [{ text }] },
      ...more,
    });
    const stored = await sessions.appendEvent({ session, event });
    if (told) await publishEvent(agent, session, stored, {});
  };
  return {
    sessions,
    ref,
    commit,
    mesh: createMesh({ ...mesh, bus }),
    listening: () => listening,
    async piece(text: string) {
      const event = createEvent({ invocationId, author: 'a', partial: true, content: { parts: [{ text }] } });
      await publishEvent(agent, session, event, {});
    },
    /** Takes the session for the invocation, as each run does before its first event. */
    begin: () => sessions.leases.take(ref, { run: '{}', whenBusy: 'enqueue' }),
    async finish(status: 'completed' | 'failed' = 'completed') {
      await sessions.invocations.end(ref, {
        status,
        ...(status === 'failed' && { error: { code: 'internal', message: 'it broke' } }),
      });
      await publishEnd(agent, { ...ref, invocationId }, { status, lastSeq: session.seq }, {});
    },
  };
}

const textOf = ({ event, seq }: NumberedEvent) => `${seq ?? '-'} ${event.content?.parts?.[0]?.text}`;
export const all = async (numbered: AsyncIterable<NumberedEvent>) =>
  (await Array.fromAsync(numbered)).map(textOf);
export const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing was thrown',
    (error: unknown) => MeshError.from(error).code,
  );
