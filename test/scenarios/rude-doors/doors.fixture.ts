import { type BaseEvent, EventType, HttpAgent } from '@ag-ui/client';
import { stringifyContent } from '@agentmesh/agent';
import type { LocalMesh } from '@agentmesh/deploy/launch';
import { type Event, subjects } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/transport-node';
import { restClient } from '../../rest-client.ts';

/** The end of a message as its sender sees it: words, or an error in words; neither for a silent end. */
export interface Heard {
  words?: string | undefined;
  error?: string | undefined;
}

/** Sends messages in one session to an agent, by one way. */
export type Door = (agent: string) => Promise<(text: string) => Promise<Heard>>;

/** Reads the last event that says something. */
function ofEvents(events: readonly (Event & { error?: string })[]): Heard {
  const last = events.findLast(
    (event) => !event.partial && (event.error ?? event.errorCode ?? stringifyContent(event)),
  );
  if (last?.errorCode !== undefined) return { error: `${last.errorCode}: ${last.errorMessage}` };
  return last?.error === undefined ? { words: last && stringifyContent(last) } : { error: last.error };
}

function ofAgUi(events: readonly BaseEvent[]): Heard {
  const failed = events.find(({ type }) => type === EventType.RUN_ERROR) as { message?: string } | undefined;
  if (failed) return { error: failed.message };
  const starts = events.findLastIndex(({ type }) => type === EventType.TEXT_MESSAGE_START);
  const pieces = events.slice(starts).flatMap((event) => ('delta' in event ? String(event.delta) : []));
  return { words: pieces.join('') };
}

/** All ways to send a message to an agent of a mesh. */
export function doorsOf(mesh: LocalMesh, nats: NatsConnection): Readonly<Record<string, Door>> {
  const rest = restClient(mesh.gatewayUrl);
  const names = subjects();
  const asked = async (app: string, toText: (text: string) => string) => {
    const session = await rest.createSession(app);
    return async (text: string) => ofEvents(await rest.events(app, session, toText(text)));
  };
  return {
    '/run': (agent) => asked(`${agent}_app`, (text) => text),
    AgentTool: (agent) => asked('boss_app', () => agent),
    async '/run_sse'(agent) {
      const session = await rest.createSession(`${agent}_app`);
      return async (text) => ofEvents(await Array.fromAsync(rest.stream(`${agent}_app`, session, text)));
    },
    async 'AG-UI'(agent) {
      const url = `${mesh.gatewayUrl}/apps/${agent}_app/users/ann/ag-ui`;
      const http = new HttpAgent({ url, threadId: crypto.randomUUID() });
      return async (content) => {
        const events: BaseEvent[] = [];
        http.addMessage({ id: crypto.randomUUID(), role: 'user', content });
        await http
          .runAgent({}, { onEvent: ({ event }) => void events.push(event) })
          .catch((error: unknown) => {
            if (!events.some(({ type }) => type === EventType.RUN_ERROR)) throw error;
          });
        return ofAgUi(events);
      };
    },
    async ask(agent) {
      const session = await rest.createSession(`${agent}_app`, 'ann');
      return async (message) => {
        const body = JSON.stringify({ message, session, user: 'ann' });
        const reply = await nats.request(names.agentAsk(agent), body, { timeout: 60_000 });
        const error = reply.headers?.get('Nats-Service-Error');
        return error ? { error } : { words: reply.json<{ text: string }>().text };
      };
    },
  };
}
