import type { Started, SubscribeOptions } from '@agentmesh/bus';
import { describe, expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { listenToRun, newInvocationId } from './run-news.ts';

const session = { appName: 'app', userId: 'u', sessionId: 's' };

/** Makes a client that notes its subscriptions, and an agent that publishes. */
async function world() {
  const { connect } = memoryMesh();
  const [agent, connected] = [await connect('agent_a'), await connect('client')];
  const subscribed: { subject: string; options: SubscribeOptions }[] = [];
  const failing = { times: 0 };
  const bus: Mesh['bus'] = {
    ...connected.bus,
    directory: connected.bus.directory,
    async subscribe(subject, onMessage, options = {}): Promise<Started> {
      if (failing.times > 0) {
        failing.times -= 1;
        throw new Error('NATS is away');
      }
      subscribed.push({ subject, options });
      return await connected.bus.subscribe(subject, onMessage, options);
    },
  };
  const mesh = { ...connected, bus };
  const heard: string[] = [];
  const listen = async (invocationId: string, ref = session) => {
    const listener = {
      onMessage: ({ subject, json }: { subject: string; json(): unknown }) =>
        void heard.push(`${ref.sessionId} ${json()} ${subject.split('.').at(-1)}`),
      onGap: () => void heard.push(`${ref.sessionId} gap`),
    };
    return await listenToRun(mesh, { ...ref, invocationId }, listener);
  };
  const tell = async (invocationId: string, text: string, ref = session) =>
    await agent.bus.publish(agent.subjects.sessionNews(ref, invocationId, 'agent_a'), text);
  return { mesh, listen, tell, heard, subscribed, failing };
}

describe('the news of runs', () => {
  it('of this process share one subscription, and come to their own listeners', async () => {
    const { mesh, listen, tell, heard, subscribed } = await world();
    const [one, two] = [newInvocationId(mesh, session), newInvocationId(mesh, session)];
    await Promise.all([listen(one), listen(two, { ...session, sessionId: 't' })]);
    await tell(one, 'first');
    await tell(two, 'second', { ...session, sessionId: 't' });
    // The invocation of another session, and one that nobody listens to.
    await tell(one, 'third', { ...session, sessionId: 't' });
    await tell(newInvocationId(mesh, session), 'fourth');
    expect(heard).toEqual(['s first agent_a', 't second agent_a']);
    expect(subscribed).toHaveLength(1);
  });

  it('come no more after the end of the listening, and the subscription stays', async () => {
    const { mesh, listen, tell, heard, subscribed } = await world();
    const one = newInvocationId(mesh, session);
    const [stop, stopTwin] = await Promise.all([listen(one), listen(one)]);
    stop();
    await tell(one, 'first');
    stopTwin();
    await tell(one, 'second');
    await listen(one);
    await tell(one, 'third');
    expect(heard).toEqual(['s first agent_a', 's third agent_a']);
    expect(subscribed).toHaveLength(1);
  });

  it('of a run that was started elsewhere come by a subscription of its own', async () => {
    const { mesh, listen, tell, heard, subscribed } = await world();
    const theirs = 'e-s00000000-1';
    await listen(newInvocationId(mesh, session));
    const stop = await listen(theirs);
    await tell(theirs, 'first');
    stop();
    await tell(theirs, 'second');
    expect(heard).toEqual(['s first agent_a']);
    expect(subscribed.map(({ subject }) => subject)).toEqual([
      expect.stringMatching(/^mesh\.v1\.session\.\*\.\*\.\*\.\*\.s[0-9a-f]{8}\.\*\.\*$/),
      'mesh.v1.session.app.u.s.*.s00000000.e-s00000000-1.*',
    ]);
  });

  it('are subscribed to again when the server has ended the subscription, or could not be asked', async () => {
    const { mesh, listen, tell, heard, subscribed, failing } = await world();
    failing.times = 1;
    const one = newInvocationId(mesh, session);
    await expect(listen(one)).rejects.toThrow('NATS is away');
    await listen(one);
    subscribed[0]?.options.onLost?.();
    await listen(one);
    expect(heard).toEqual(['s gap']);
    expect(subscribed).toHaveLength(2);
    await tell(one, 'first');
    expect(heard.slice(1)).toContain('s first agent_a');
  });

  it('tell all listeners of a lost connection, and one of a lost message', async () => {
    const { mesh, listen, heard, subscribed } = await world();
    const [one, two] = [newInvocationId(mesh, session), newInvocationId(mesh, session)];
    await listen(one);
    await listen(two, { ...session, sessionId: 't' });
    subscribed[0]?.options.onGap?.();
    subscribed[0]?.options.onGap?.(mesh.subjects.sessionEvent(session, one, 'agent_a'));
    expect(heard).toEqual(['s gap', 't gap', 's gap']);
  });
});
