import { describe, expect, it } from 'vitest';
import { createEvent } from '../event.ts';
import type { MemoryService } from '../memory/memory-service.ts';
import type { Session } from '../session-service.ts';

/** What every memory service must do. */
export function memoryServiceConformance(
  name: string,
  make: () => Promise<{ service: MemoryService; dispose(): Promise<void> }>,
): void {
  const sessionOf = (id: string, ...texts: string[]): Session => ({
    id,
    appName: 'app',
    userId: 'u',
    state: {},
    seq: texts.length,
    lastUpdateTime: 0,
    events: texts.map((text) =>
      createEvent({ author: 'user', timestamp: 0, content: { role: 'user', parts: [{ text }] } }),
    ),
  });
  const find = async (service: MemoryService, query: string, userId = 'u') => {
    const { memories } = await service.searchMemory({ appName: 'app', userId, query });
    return memories.map(({ content }) => content.parts?.[0]?.text);
  };
  const withService = (run: (service: MemoryService) => Promise<void>) => async () => {
    const { service, dispose } = await make();
    try {
      await run(service);
    } finally {
      await dispose();
    }
  };

  describe(`memory service: ${name}`, () => {
    it(
      'finds what was said by its words, best match first',
      withService(async (service) => {
        await service.addSessionToMemory(
          sessionOf('s1', 'I like green tea', 'My cat is green', 'nothing here'),
        );
        expect(await find(service, 'Green TEA?')).toEqual(['I like green tea', 'My cat is green']);
        expect(await find(service, 'coffee')).toEqual([]);
      }),
    );

    it.each([
      ['Chinese', '我喜欢绿茶', '绿茶'],
      ['Russian', 'Я люблю зелёный чай', 'чай'],
      ['Arabic', 'أحب الشاي الأخضر', 'الشاي'],
      ['German', 'Ich mag grünen Tee', 'GRÜNEN'],
      ['decomposed letters', 'cafe\u0301', 'café'],
    ])('finds words in %s (ADK defect B20)', async (_what, text, query) => {
      const { service, dispose } = await make();
      await service.addSessionToMemory(sessionOf('s1', text));
      expect(await find(service, query)).toEqual([text]);
      await dispose();
    });

    it(
      'keeps users apart',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'secret word'));
        expect(await find(service, 'secret', 'other')).toEqual([]);
      }),
    );

    it(
      'replaces a session that is added again',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'old tea'));
        await service.addSessionToMemory(sessionOf('s1', 'new tea'));
        expect(await find(service, 'tea')).toEqual(['new tea']);
      }),
    );

    it(
      'tells who said it and when',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'tea'));
        const { memories } = await service.searchMemory({ appName: 'app', userId: 'u', query: 'tea' });
        expect(memories).toMatchObject([{ author: 'user', timestamp: '1970-01-01T00:00:00.000Z' }]);
      }),
    );
  });
}
