import { expect, it } from 'vitest';
import { createEvent } from '../events/event.ts';
import { InMemoryMemoryService } from '../memory/in-memory-memory-service.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import type { Context } from './context.ts';
import { memoryOf } from './memory-access.ts';

it('adds a session of which a turn has not read all: what is new, and all of it after a rewind', async () => {
  const sessionService = new InMemorySessionService();
  const memoryService = new InMemoryMemoryService();
  const owner = { appName: 'app', userId: 'u' };
  const session = await sessionService.createSession({ ...owner, sessionId: 's' });
  const say = async (invocationId: string, actions = {}) => {
    const content = { role: 'user', parts: [{ text: invocationId }] };
    const event = createEvent({ invocationId, author: 'user', actions, content });
    await sessionService.appendEvent({ session, event });
  };
  const remembered = async (read: number) => {
    const invocationContext = {
      session: { ...session, events: session.events.slice(-read) },
      sessionService,
    };
    const context = { ...owner, sessionId: 's', services: { memoryService }, invocationContext };
    await memoryOf(context as unknown as Context).addSession();
    const { memories } = await memoryService.listMemories(owner);
    return memories.map(({ content }) => content.parts?.[0]?.text);
  };
  for (const id of ['one', 'two', 'three']) await say(id);
  expect(await remembered(1)).toEqual(['one', 'two', 'three']);
  await say('four');
  expect(await remembered(2)).toEqual(['one', 'two', 'three', 'four']);
  await say('back', { rewindBeforeInvocationId: 'two' });
  await say('five');
  expect(await remembered(1)).toEqual(['one', 'five']);
  await say('six');
  expect(await remembered(1)).toEqual(['one', 'five', 'six']);
  await say('back again', { rewindBeforeInvocationId: 'five' });
  expect(await remembered(6)).toEqual(['one']);
});
