import { describe, expect, it } from 'vitest';
import type { MemoryKit } from './kit.ts';
import { owner, sessionOf } from './kit.ts';

/** Tests of searching: languages, ranking, limits. */
export function memorySearching(name: string, { withService, find }: MemoryKit): void {
  describe(`memory service, searching: ${name}`, () => {
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
      ['Chinese', '我喜欢绿茶', '绿茶', '咖啡'],
      ['Chinese, a single character', '我喜欢绿茶', '茶', '酒'],
      [
        'Japanese, a compound that is cut otherwise in the sentence',
        '昨日は東京都庁に行きました',
        '都庁',
        '大阪',
      ],
      ['Japanese katakana', '朝はコーヒーを飲みます', 'コーヒー', 'スキー'],
      ['half-width katakana', '朝はｺｰﾋｰを飲みます', 'コーヒー', 'スキー'],
      ['Thai', 'ฉันชอบดื่มกาแฟตอนเช้า', 'กาแฟ', 'น้ำส้ม'],
      ['Khmer', 'ខ្ញុំចូលចិត្តកាហ្វេ', 'កាហ្វេ', 'ទឹកដោះគោ'],
      ['Korean, without its ending', '저는 커피를 좋아해요', '커피', '홍차'],
      ['Korean, with another ending', '저는 커피를 좋아해요', '커피가', '홍차'],
      ['Hindi', 'मुझे हरी चाय पसंद है', 'चाय', 'कॉफ़ी'],
      ['Russian', 'Я люблю зелёный чай', 'ЧАЙ', 'кофе'],
      ['Arabic', 'أحب الشاي الأخضر', 'الشاي', 'القهوة'],
      ['Arabic with vowels', 'أُحِبُّ الشَّاي', 'أحب', 'القهوة'],
      ['Hebrew with vowels', 'שָׁלוֹם עולם', 'שלום', 'תה'],
      ['Persian with an unseen joint', 'چای می\u200Cخواهم', 'میخواهم', 'قهوه'],
      ['German', 'Ich mag grünen Tee', 'GRÜNEN', 'Kaffee'],
      ['German in capitals', 'Die Straße ist lang', 'STRASSE', 'Weg'],
      ['Greek in capitals', 'Ο δρόμος είναι μακρύς', 'ΔΡΟΜΟΣ', 'καφές'],
      ['Turkish', 'İstanbul çok güzel', 'istanbul', 'ankara'],
      ['decomposed letters', 'cafe\u0301', 'café', 'thé'],
      ['letters without their accents', 'un café à Orléans', 'orleans', 'the'],
      ['full-width letters', 'Ｔｅａ, please', 'tea', 'cup'],
      ['emoji', 'let us have 🍵 now', '🍵', '🍺'],
      ['emoji of several parts', 'she is a 👩‍💻', '💻', '🍺'],
      ['flags', 'we go to 🇯🇵', '🇯🇵', '🇫🇷'],
      ['numbers and codes', 'order ADK-1234 came', '1234', '123'],
      ['addresses', 'write to ann@example.com', 'example', 'examp'],
    ])('finds words in %s (ADK defect B20)', (_what, text, query, other) =>
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', text));
        expect(await find(service, query)).toEqual([text]);
        expect(await find(service, other)).toEqual([]);
      })(),
    );

    it(
      'ranks rare words over common ones, short texts over long ones, and of equals the last one first',
      withService(async (service) => {
        const filler = (n: number) => `the weather of day ${n}`;
        const long = `the dentist ${'and so on '.repeat(30)}`;
        await service.addSessionToMemory(
          sessionOf('s1', ...Array.from({ length: 30 }, (_, n) => filler(n)), long, 'the dentist called'),
        );
        expect(await find(service, 'the dentist', { limit: 3 })).toEqual([
          'the dentist called',
          long,
          expect.stringContaining('the weather'),
        ]);
        await service.addSessionToMemory(sessionOf('s2', 'same words', 'same words!'));
        expect(await find(service, 'same')).toEqual(['same words!', 'same words']);
      }),
    );

    it(
      'scores what it finds, in falling order, and tells who said it, when and where',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'green tea', 'tea with milk, and a cake'));
        const { memories } = await service.searchMemory({ ...owner, query: 'green tea' });
        expect(memories).toMatchObject([
          { author: 'user', timestamp: '1970-01-01T00:00:00.000Z', sessionId: 's1', id: expect.any(String) },
          { author: 'user' },
        ]);
        const [best, next] = memories;
        expect(best?.score).toBeGreaterThan(next?.score ?? 0);
        expect(next?.score).toBeGreaterThan(0);
      }),
    );

    it(
      'gives ten by default, and as many as asked for',
      withService(async (service) => {
        const texts = Array.from({ length: 25 }, (_, n) => `tea number ${n}`);
        await service.addSessionToMemory(sessionOf('s1', ...texts));
        expect(await find(service, 'tea')).toHaveLength(10);
        expect(await find(service, 'tea', { limit: 1 })).toEqual(['tea number 24']);
        expect(await find(service, 'tea', { limit: 100 })).toHaveLength(25);
        await expect(find(service, 'tea', { limit: 0 })).rejects.toMatchObject({ code: 'invalid_argument' });
      }),
    );

    it(
      'takes any query',
      withService(async (service) => {
        await service.addSessionToMemory(sessionOf('s1', 'tea'));
        for (const query of ['', '   ', '?!…', '\u0000', '\ud800', '(', '*', '-@x:{y}', 'ー', 'っ'])
          expect(await find(service, query)).toEqual([]);
        expect(await find(service, `tea ${'word '.repeat(20_000)}`)).toEqual(['tea']);
      }),
    );

    it(
      'finds a word at the end of a long text',
      withService(async (service) => {
        const text = `${Array.from({ length: 30_000 }, (_, n) => `w${n % 3_000}`).join(' ')} needle`;
        await service.addSessionToMemory(sessionOf('s1', text, 'another'));
        expect(await find(service, 'needle')).toEqual([text]);
      }),
    );

    it(
      'finds one of thousands',
      withService(async (service) => {
        const texts = Array.from({ length: 3_000 }, (_, n) => `I told you thing number n${n} of many`);
        await service.addSessionToMemory(sessionOf('s1', ...texts));
        expect(await find(service, 'what was thing n1234 of many?', { limit: 1 })).toEqual([texts[1_234]]);
        expect(await find(service, 'thing', { limit: 100 })).toHaveLength(100);
      }),
      60_000,
    );
  });
}
