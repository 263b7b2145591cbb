import { randomBytes, randomUUID } from 'node:crypto';
import { latestFunctionResponses, type ModelScript } from '@agentmesh/testing';

/** The services that the operations need. */
export const needed = [
  ...['weather_agent', 'get_weather', 'customer_agent', 'support_agent'],
  ...['assistant_agent', 'summary_agent', 'time_off_agent'],
];

const argsOf: Record<string, Record<string, unknown>> = {
  check_urgency: { request: 'it is urgent' },
  summary_agent: { request: 'a text' },
  get_weather: { city: 'Paris' },
  request_time_off: { days: 5 },
};

/** The model calls the tool of its agent, and says `done` with its result. */
export const script: ModelScript = (asked) => {
  const tool = asked.tools.find(({ name = '' }) => name in argsOf)?.name;
  if (tool !== undefined && latestFunctionResponses(asked).length === 0)
    return { calls: [{ name: tool, args: argsOf[tool] ?? {} }] };
  return { text: 'done' };
};

/** One operation of a user: it makes a session, works in it, and deletes it. @throws Error for every answer that is not the expected one */
export type Operation = (gateway: Gateway, user: string) => Promise<void>;

export type Gateway = (method: string, path: string, body?: unknown) => Promise<Response>;

/** Returns a way to a gateway that throws for a refusal. */
export function gatewayAt(url: string): Gateway {
  return async (method, path, body) => {
    const isJson = body !== undefined && !(body instanceof Uint8Array);
    const response = await fetch(`${url}${path}`, {
      ...{ method, ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }) },
      ...(body !== undefined && {
        headers: { 'content-type': isJson ? 'application/json' : 'application/octet-stream' },
      }),
    });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
}

async function inSession(
  gateway: Gateway,
  { app, user }: { app: string; user: string },
  work: (session: string, path: string) => Promise<void>,
): Promise<void> {
  const sessions = `/apps/${app}/users/${user}/sessions`;
  const { id } = (await (await gateway('POST', sessions, {})).json()) as { id: string };
  await work(id, `${sessions}/${id}`);
  await (await gateway('DELETE', `${sessions}/${id}`)).arrayBuffer();
}

/** Sends a message and returns the answer as text. @throws Error for a run without the answer, or with an error */
async function say(
  gateway: Gateway,
  {
    app,
    user,
    session,
    part = { text: 'hello' },
    isStream = false,
  }: {
    app: string;
    user: string;
    session: string;
    part?: object;
    isStream?: boolean;
  },
): Promise<string> {
  const body = {
    appName: app,
    userId: user,
    sessionId: session,
    newMessage: { role: 'user', parts: [part] },
  };
  const path = isStream ? '/run_sse' : '/run';
  const text = await (await gateway('POST', path, { ...body, streaming: isStream })).text();
  if (text.includes('"errorCode"') || text.includes('"error"'))
    throw new Error(`${app}: ${text.slice(0, 500)}`);
  return text;
}

/** A turn that ends with the model's last word. */
function turn(app: string, isStream: boolean): Operation {
  return (gateway, user) =>
    inSession(gateway, { app, user }, async (session) => {
      const text = await say(gateway, { app, user, session, isStream });
      if (!text.includes('"done"')) throw new Error(`${app} gave no answer: ${text.slice(0, 500)}`);
    });
}

const confirmed: Operation = (gateway, user) =>
  inSession(gateway, { app: 'time_off_app', user }, async (session, path) => {
    await say(gateway, { app: 'time_off_app', user, session });
    const { pending } = (await (await gateway('GET', `${path}/pending`)).json()) as {
      pending: { id: string; name: string }[];
    };
    const [call] = pending;
    if (!call) throw new Error('the agent asked for no confirmation');
    const response = { confirmed: true, payload: { approvedDays: 4 } };
    const part = { functionResponse: { id: call.id, name: call.name, response } };
    const text = await say(gateway, { app: 'time_off_app', user, session, part });
    if (!text.includes('"done"')) throw new Error(`the answer was not taken: ${text.slice(0, 500)}`);
  });

const file: Operation = (gateway, user) =>
  inSession(gateway, { app: 'weather_app', user }, async (_session, path) => {
    const bytes = randomBytes(65_536);
    const to = `${path}/artifacts/${randomUUID()}.bin/content`;
    await (await gateway('PUT', to, bytes)).arrayBuffer();
    const read = Buffer.from(await (await gateway('GET', to)).arrayBuffer());
    if (!read.equals(bytes)) throw new Error('a file came back changed');
  });

const list: Operation = async (gateway, user) => {
  const sessions = await (await gateway('GET', `/apps/weather_app/users/${user}/sessions`)).json();
  if (!Array.isArray(sessions)) throw new Error('there is no list of sessions');
};

/** The mix: the operations, each as often as it stands here. */
export const mix: readonly { name: string; once: Operation }[] = [
  { name: 'a remote tool, /run', once: turn('weather_app', false) },
  { name: 'a remote tool, /run_sse', once: turn('weather_app', true) },
  { name: 'a transfer, /run_sse', once: turn('customer_app', true) },
  { name: 'an agent as a tool, /run', once: turn('assistant_app', false) },
  { name: 'a confirmation and its answer', once: confirmed },
  { name: 'a remote tool, /run', once: turn('weather_app', false) },
  { name: 'a file of 64 KiB up and down', once: file },
  { name: 'the list of sessions', once: list },
];
