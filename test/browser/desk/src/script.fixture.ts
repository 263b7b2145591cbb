import { latestFunctionResponses, latestUserText, type ModelScript } from '@agentmesh/testing';

/**
 * A model's answers: save a file, order lunch, let the client pick colors, describe an upload, or tell a story word by
 * word; a long one takes a while.
 */
export const script: ModelScript = (request) => {
  const results = latestFunctionResponses(request);
  const colors = results.flatMap(({ name, response }) => (name === 'pick_color' ? [response?.color] : []));
  if (colors.length > 0) return colorReply(request, colors);
  const [result] = results;
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
  if (name) return { calls: [saving(name)] };
  if (text.includes('color')) return { calls: [saving('color.txt'), pickColor] };
  if (text.includes('lunch')) return { calls: [{ name: 'order_lunch', args: { people: 4 } }] };
  if (text.includes('long')) return { text: 'It is over.', delayMs: 20_000 };
  return { chunks: ['Once ', 'upon ', 'a ', 'time.'], chunkDelayMs: 400 };
};

const saving = (name: string) => ({ name: 'save_file', args: { name, text: `This is ${name}.` } });
const pickColor = { name: 'pick_color', args: { near: 'red' } };

/** Asks for another color, if the client wants it, or tells the colors, slowly if one of them is slow. */
function colorReply(
  { contents, tools }: Parameters<ModelScript>[0],
  colors: readonly unknown[],
): ReturnType<ModelScript> {
  if (colors.at(-1) === 'another') return { calls: [pickColor] };
  const [situation = ''] = contents.flatMap(({ parts = [] }) =>
    parts.flatMap(({ text }) => /"value":"(.*?)"/.exec(text ?? '')?.[1] ?? []),
  );
  const isKnown = tools.some(({ name }) => name === 'pick_color');
  const text = `${colors.at(-1)} for the ${situation}${isKnown ? '' : ', and no tool'}.`;
  return { text, delayMs: colors.at(-1) === 'slow' ? 1_000 : 0 };
}
