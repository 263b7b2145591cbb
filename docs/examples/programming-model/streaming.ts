// A client of the mesh of `npm start`. The gateway streams the events of assistant_agent, which asks
// summary_agent; each runs in its own process. Pieces of summary_agent's answer come through both, in order.
const gateway = `http://localhost:${process.env.MESH_HTTP_PORT ?? 8000}`;
const post = async (path: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response;
};

const created = await post('/apps/assistant_app/users/ann/sessions', {});
const session = (await created.json()) as { id: string };
const { body } = await post('/run_sse', {
  appName: 'assistant_app',
  userId: 'ann',
  sessionId: session.id,
  streaming: true,
  newMessage: { role: 'user', parts: [{ text: 'The sun rises. Then it sets.' }] },
});
let rest = '';
for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines.filter((each) => each.startsWith('data: '))) {
    const { author, partial, content, customMetadata } = JSON.parse(line.slice('data: '.length));
    const within = customMetadata?.['mesh:withinCall'] ? ' (within the call of the tool)' : '';
    for (const { text, functionCall, functionResponse } of content?.parts ?? []) {
      const what =
        text ?? (functionCall ? `calls ${functionCall.name}` : `has the result of ${functionResponse.name}`);
      console.log(`${partial ? '… ' : ''}${author}${within}: ${what}`);
    }
  }
}
