import type { Event } from '@agentmesh/protocol';
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** Calls the gateway as a client of ADK does. */
export function restClient(url: string) {
  const send = (method: string, path: string, body?: unknown, signal?: AbortSignal) =>
    fetch(`${url}${path}`, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
      ...(signal && { signal }),
    });
  return {
    send,
    async createSession(app: string, user = 'u1', state?: Record<string, unknown>): Promise<string> {
      const response = await send('POST', `/apps/${app}/users/${user}/sessions`, state ? { state } : {});
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      const { id } = (await response.json()) as { id: string };
      return id;
    },
    run: (appName: string, sessionId: string, text: string, more: Record<string, unknown> = {}) =>
      send('POST', '/run', runBody(appName, sessionId, text, more)),
    /** Runs the agent and returns all events. Throws when the answer is not 200. */
    async events(
      appName: string,
      sessionId: string,
      text: string,
      more: Record<string, unknown> = {},
    ): Promise<Event[]> {
      const response = await send('POST', '/run', runBody(appName, sessionId, text, more));
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as Event[];
    },
    async *stream(
      appName: string,
      sessionId: string,
      text: string,
    ): AsyncGenerator<Event & { error?: string }> {
      const response = await send('POST', '/run_sse', {
        ...runBody(appName, sessionId, text),
        streaming: true,
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      const frames = response.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
      for await (const { data } of frames ?? []) yield JSON.parse(data);
    },
  };
}

function runBody(appName: string, sessionId: string, text: string, more: Record<string, unknown> = {}) {
  return { appName, userId: 'u1', sessionId, newMessage: { role: 'user', parts: [{ text }] }, ...more };
}

/** Returns the text of the last event. */
export function lastText(events: readonly Event[]): string {
  return (
    events
      .at(-1)
      ?.content?.parts?.map(({ text }) => text ?? '')
      .join('') ?? ''
  );
}
