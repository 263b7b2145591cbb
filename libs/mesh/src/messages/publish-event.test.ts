import { createEvent } from '@agentmesh/agent';
import { everySession, header } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { publishEvent } from './publish-event.ts';

it('an event that another attempt has committed is published under its own number', async () => {
  const { connect, sessions } = memoryMesh();
  const [agent, client] = [await connect('agent_solo'), await connect('client')];
  const session = await sessions.createSession({ appName: 'app', userId: 'u' });
  const commit = (id: string) =>
    sessions.appendEvent({ session, event: createEvent({ id, invocationId: 'e', author: 'solo' }) });
  for (const id of ['a', 'b', 'c']) await commit(id);
  const numbers: (string | undefined)[] = [];
  await client.bus.subscribe(client.subjects.invocationWatch(everySession, 'e'), ({ headers }) =>
    numbers.push(headers[header.seq]),
  );
  const older = createEvent({ id: 'older', invocationId: 'e', author: 'solo' });
  for (const event of [await commit('a'), await commit('c'), await commit('d'), older])
    await publishEvent(agent, session, event, {});
  await expect.poll(() => numbers).toEqual(['1', '3', '4', '0']);
  const { id: sessionId, appName, userId } = session;
  const tail = await sessions.getSession({ appName, userId, sessionId, config: { numRecentEvents: 1 } });
  if (!tail) throw new Error('the session is gone');
  await publishEvent(agent, tail, await sessions.appendEvent({ session: tail, event: older }), {});
  await expect.poll(() => numbers.at(-1)).toBe('5');
});
