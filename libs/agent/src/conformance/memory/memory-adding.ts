import { describe, expect, it } from 'vitest';
import { createEvent } from '../../events/event.ts';
import type { MemoryKit } from './kit.ts';
import { eventOf, owner, sessionOf } from './kit.ts';

/** Tests of adding: sessions that grow, that are replaced, concurrent additions; events; other memories. */
export function memoryAdding(name: string, { withService, find, all }: MemoryKit): void {
  describe(`memory service, adding: ${name}`, () => {
    it(
      'replaces a session that is added again',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'old tea', 'more tea', 'other words'));
        await service.addSessionToMemory(sessionOf('s1', 'new tea'));
        expect(await find(service, 'tea')).toEqual(['new tea']);
        expect(await find(service, 'words')).toEqual([]);
        await service.addSessionToMemory(sessionOf('s1'));
        expect(await all(service)).toEqual([]);
      }),
    );

    it(
      'adds of a session that has grown what is new, once',
      withService(async (service) => {
        const events = Array.from({ length: 120 }, (_, n) => eventOf(`tea ${n}`));
        for (const length of [1, 1, 60, 61, 120, 120])
          await service.addSessionToMemory(sessionOf('s1', ...events.slice(0, length)));
        expect(await all(service)).toEqual(events.map((_, n) => `tea ${n}`));
        expect(await find(service, '119')).toEqual(['tea 119']);
      }),
    );

    it(
      'takes a session of which only the last events were read, and the whole of it later',
      withService(async (service) => {
        const events = Array.from({ length: 10 }, (_, n) => eventOf(`tea ${n}`));
        const last = (from: number, to: number) => ({
          ...sessionOf('s1', ...events.slice(from, to)),
          seq: to,
        });
        await service.addSessionToMemory(last(4, 6));
        await service.addSessionToMemory(last(5, 8));
        expect(await all(service)).toEqual(['tea 4', 'tea 5', 'tea 6', 'tea 7']);
        await service.addSessionToMemory(sessionOf('s1', ...events));
        expect((await all(service)).sort()).toEqual(events.map((_, n) => `tea ${n}`));
        await service.addSessionToMemory({ ...sessionOf('s1', eventOf('tea 10')), seq: 11 });
        expect(await all(service)).toHaveLength(11);
      }),
    );

    it(
      'tells how far a session is in memory, so that just what comes after need be read',
      withService(async (service) => {
        const events = Array.from({ length: 6 }, (_, n) => eventOf(`tea ${n}`));
        const mark = () => service.findMark({ ...owner, sessionId: 's1' });
        expect(await mark()).toBeUndefined();
        await service.addSessionToMemory(sessionOf('s1', ...events.slice(0, 3)));
        expect(await mark()).toEqual({ seq: 3, eventId: events[2]?.id });
        await service.addSessionToMemory({ ...sessionOf('s1', ...events.slice(2)), seq: 6 });
        expect(await mark()).toEqual({ seq: 6, eventId: events[5]?.id });
        expect(await all(service)).toEqual(events.map((_, n) => `tea ${n}`));
        await service.deleteMemories({ ...owner, sessionId: 's1' });
        expect(await mark()).toBeUndefined();
      }),
    );

    it(
      'loses nothing to one who read the session before it grew',
      withService(async (service) => {
        const events = ['one', 'two', 'three'].map((text) => eventOf(text));
        await service.addSessionToMemory(sessionOf('s1', ...events));
        await service.addSessionToMemory(sessionOf('s1', ...events.slice(0, 2)));
        expect(await all(service)).toEqual(['one', 'two', 'three']);
      }),
    );

    it(
      'adds a session once that many add at once',
      withService(async (service) => {
        const events = Array.from({ length: 150 }, (_, n) => eventOf(`tea ${n}`));
        await Promise.all(
          [150, 150, 40, 150, 90].map((length) =>
            service.addSessionToMemory(sessionOf('s1', ...events.slice(0, length))),
          ),
        );
        await service.addSessionToMemory(sessionOf('s1', ...events));
        expect((await all(service)).sort()).toEqual(events.map((_, n) => `tea ${n}`).sort());
        expect(await find(service, '77')).toEqual(['tea 77']);
      }),
    );

    it(
      'remembers what was said: no thoughts, no calls, no files, nothing that is empty or was not finished',
      withService(async (service) => {
        const parts = [
          { text: 'secret thought', thought: true },
          { text: 'spoken' },
          { inlineData: { mimeType: 'text/plain', data: 'c2VjcmV0' } },
        ];
        await service.addSessionToMemory(
          sessionOf(
            's1',
            createEvent({ author: 'a', content: { role: 'model', parts } }),
            createEvent({
              author: 'a',
              partial: true,
              content: { role: 'model', parts: [{ text: 'half' }] },
            }),
            createEvent({
              author: 'a',
              content: { role: 'model', parts: [{ functionCall: { name: 'half', args: { spoken: 1 } } }] },
            }),
            eventOf(' '),
          ),
        );
        expect(await all(service)).toEqual(['spoken']);
        const { memories } = await service.searchMemory({ ...owner, query: 'spoken secret half' });
        expect(memories.map(({ content }) => content)).toEqual([
          { role: 'model', parts: [{ text: 'spoken' }] },
        ]);
      }),
    );

    it(
      'keeps texts with anything in them',
      withService(async (service) => {
        const texts = ['tea \ud800', 'tea \u0000 \\ " \u2028', `tea ${'x'.repeat(100_000)}`, 'tea\r\n\t{}[]'];
        await service.addSessionToMemory(sessionOf('s1', ...texts));
        expect(await find(service, 'tea')).toHaveLength(4);
        expect(await all(service)).toEqual(texts.map((text) => text.toWellFormed()));
        expect(await find(service, 'x'.repeat(100_000))).toEqual([texts[2]]);
      }),
    );

    it(
      'adds events by their ids, and the session that they belong to takes them over',
      withService(async (service) => {
        const events = [eventOf('one tea'), eventOf('two teas')];
        const request = { ...owner, sessionId: 's1', events, customMetadata: { from: 'tests' } };
        await service.addEventsToMemory(request);
        await service.addEventsToMemory(request);
        await service.addEventsToMemory({ ...owner, events: [eventOf('of no session')] });
        expect(await all(service)).toEqual(['one tea', 'two teas', 'of no session']);
        const { memories } = await service.searchMemory({ ...owner, query: 'teas' });
        expect(memories).toMatchObject([{ sessionId: 's1', customMetadata: { from: 'tests' } }]);
        await service.addSessionToMemory(sessionOf('s1', ...events.slice(1)));
        expect(await all(service)).toEqual(['two teas', 'of no session']);
      }),
    );

    it(
      'adds memories with metadata; an id makes it harmless to add one again',
      withService(async (service) => {
        const content = { role: 'user', parts: [{ text: 'allergic to nuts' }] };
        const customMetadata = { source: 'form', weight: 3 };
        const memories = [{ id: 'nuts', content, author: 'clerk', customMetadata }];
        await service.addMemory({ ...owner, memories });
        await service.addMemory({ ...owner, memories });
        const found = await service.searchMemory({ ...owner, query: 'NUTS' });
        expect(found.memories).toMatchObject([{ id: 'nuts', content, author: 'clerk', customMetadata }]);
        expect(found.memories).toHaveLength(1);
        expect(found.memories[0]).not.toHaveProperty('sessionId');
        await expect(
          service.addMemory({ ...owner, memories: [{ content: { parts: [] } }] }),
        ).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(
          service.addMemory({ ...owner, memories: [{ content, customMetadata: { x: 1n } }] }),
        ).rejects.toMatchObject({ code: 'invalid_argument' });
      }),
    );
  });
}
