/**
 * Types of files that Gemini reads, by the pages of its API about images, sound, video and documents. It refuses
 * requests with other ones (400).
 */
const types = new Set([
  ...['png', 'jpeg', 'webp', 'heic', 'heif'].map((name) => `image/${name}`),
  ...['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'mp4', 'opus', 'webm'].map(
    (name) => `audio/${name}`,
  ),
  ...['mp4', 'mpeg', 'mov', 'quicktime', 'avi', 'x-flv', 'mpg', 'webm', 'wmv', '3gpp'].map(
    (name) => `video/${name}`,
  ),
  'application/pdf',
]);

export const isReadByGemini = (type: string): boolean => types.has(type);
