import { describe, expect, it } from 'vitest';
import type { MemoryKit } from './kit.ts';
import { eventOf, owner, sessionOf } from './kit.ts';

/** Tests of owners, listing and deletion. */
export function memoryKeeping(name: string, { withService, find, all }: MemoryKit): void {
  describe(`memory service, keeping: ${name}`, () => {
    it(
      'keeps users and apps apart',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'secret word'));
        expect(await find(service, 'secret', { userId: 'other' })).toEqual([]);
        const { memories } = await service.searchMemory({ ...owner, appName: 'app2', query: 'secret' });
        expect(memories).toEqual([]);
        await service.deleteMemories({ ...owner, userId: 'other' });
        await service.deleteMemories({ ...owner, appName: 'app2' });
        expect(await find(service, 'secret')).toEqual(['secret word']);
      }),
    );

    it.each(['*', '{x}:y', ' ', 'Ünï 茶', 'a:b', '__proto__', 'constructor', ''])(
      'takes the name %j for a user, an app, a session and an event',
      (strange) =>
        withService(async (service) => {
          const there = { appName: strange, userId: strange };
          const session = { ...sessionOf(strange, eventOf('some tea', strange || 'e')), ...there };
          await service.addSessionToMemory(session);
          await service.addSessionToMemory(sessionOf('s1', 'other tea'));
          const { memories } = await service.searchMemory({ ...there, query: 'tea' });
          expect(memories).toMatchObject([
            { sessionId: strange, content: { parts: [{ text: 'some tea' }] } },
          ]);
          expect(await service.deleteMemories({ ...there, sessionId: strange })).toBe(1);
          expect(await find(service, 'tea')).toEqual(['other tea']);
        })(),
    );

    it(
      'gives a copy: changing it changes nothing that is kept',
      withService(async (service) => {
        const session = sessionOf('s1', 'tea');
        await service.addSessionToMemory(session);
        const [part] = session.events[0]?.content?.parts ?? [];
        if (part) part.text = 'changed';
        const { memories } = await service.searchMemory({ ...owner, query: 'tea' });
        memories[0]?.content.parts?.push({ text: 'changed' });
        expect(await all(service)).toEqual(['tea']);
      }),
    );

    it(
      'pages through all memories in order, none twice, also while some go',
      withService(async (service) => {
        const texts = Array.from({ length: 25 }, (_, n) => `tea ${n}`);
        await service.addSessionToMemory(sessionOf('s1', ...texts.slice(0, 20)));
        await service.addSessionToMemory(sessionOf('s2', ...texts.slice(20)));
        const first = await service.listMemories({ ...owner, limit: 10 });
        await service.deleteMemories({ ...owner, sessionId: 's2' });
        const { next = '' } = first;
        const second = await service.listMemories({ ...owner, limit: 10, after: next });
        const seen = [...first.memories, ...second.memories].map(({ content }) => content.parts?.[0]?.text);
        expect(seen).toEqual(texts.slice(0, 20));
        expect(second.next).toBeUndefined();
        expect(first.memories[0]).toMatchObject({ sessionId: 's1', author: 'user' });
      }),
    );

    it(
      'forgets a session, or everything, and counts',
      withService(async (service) => {
        const kept = sessionOf('s2', 'green tea');
        await service.addSessionToMemory(sessionOf('s1', 'black tea', 'white tea'));
        await service.addSessionToMemory(kept);
        await service.addMemory({ ...owner, memories: [{ content: { parts: [{ text: 'no tea' }] } }] });
        expect(await service.deleteMemories({ ...owner, sessionId: 's1' })).toBe(2);
        expect(await service.deleteMemories({ ...owner, sessionId: 's1' })).toBe(0);
        expect((await find(service, 'tea')).sort()).toEqual(['green tea', 'no tea']);
        expect(await service.deleteMemories(owner)).toBe(2);
        expect(await all(service)).toEqual([]);
        await service.addSessionToMemory(kept);
        expect(await find(service, 'tea')).toEqual(['green tea']);
      }),
    );
  });
}
