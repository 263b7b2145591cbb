/** Length of the shortest word that counts as a subject of a text. */
const shortest = 4;

/** Describes the contents of a text for people: a stand-in for a model that would read it. */
export function analyse(text: string, query: string, remembered: readonly string[]): string {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const queryWords = new Set(query.toLowerCase().match(/\p{L}+/gu) ?? []);
  const lines = text.split('\n').filter((line) => {
    const lineWords = line.toLowerCase().match(/\p{L}+/gu) ?? [];
    return lineWords.some((word) => word.length >= shortest && queryWords.has(word));
  });
  return [
    `Asked for: ${query}`,
    `Words: ${words.length}`,
    ...(lines.length > 0
      ? ['Lines about it:', ...lines.map((line) => `- ${line.trim()}`)]
      : ['No line is about it.']),
    ...(remembered.length > 0 ? ['From earlier talks:', ...remembered.map((each) => `- ${each}`)] : []),
  ].join('\n');
}
