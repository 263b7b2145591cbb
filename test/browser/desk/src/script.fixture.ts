import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/** A model's answers: save a file, order lunch, describe an upload, or tell a story word by word; a long one takes a while. */
export const script: ModelScript = (request) => {
  const [result] = latestFunctionResponses(request);
  if (result?.name === 'save_file') return { text: `I have saved ${result.response?.name}.` };
  if (result)
    return { text: `Lunch is ${result.response?.status ?? `not ordered: ${result.response?.error}`}.` };
  const parts = request.contents.at(-1)?.parts ?? [];
  const upload = parts.find(({ inlineData }) => inlineData)?.inlineData;
  if (upload) {
    const bytes = Buffer.from(upload.data ?? '', 'base64').length;
    return { text: `I got ${bytes} bytes of ${upload.mimeType}.` };
  }
  const text = latestUserText(request);
  const [, name] = /save (\S+)/i.exec(text) ?? [];
  if (name) return { calls: [{ name: 'save_file', args: { name, text: `This is ${name}.` } }] };
  if (text.includes('lunch')) return { calls: [{ name: 'order_lunch', args: { people: 4 } }] };
  if (text.includes('long')) return { text: 'It is over.', delayMs: 20_000 };
  return { chunks: ['Once ', 'upon ', 'a ', 'time.'], chunkDelayMs: 400 };
};
