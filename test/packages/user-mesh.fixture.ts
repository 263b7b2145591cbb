import { endProcess, freePort, type Server, startNats, startRedis, until } from '@agentmesh/testing';
import type { Project } from './project.fixture.ts';

/** The users of the mesh of the README, and of the servers. */
const users = ['provision', 'gateway', 'agent_desk', 'tool_get_time'];

/** NATS and Redis that know only the users of a project. */
export interface UserServers extends AsyncDisposable {
  /** Returns the environment in which a process logs in as a user. */
  loginOf(user: string): Record<string, string>;
}

/** Starts servers with the rights that the command prints for a project, and has the command provision them. */
export async function startServers(
  project: Project,
  node: string,
  definitions: string,
): Promise<UserServers> {
  const command = (words: string[], env: Record<string, string> = {}) =>
    project.run(node, ['node_modules/.bin/agentmesh', ...words, definitions], env);
  const passwords = users.map((user) => [`REDIS_PASSWORD_${user.toUpperCase()}`, `secret-${user}`]);
  const acl = await command(['rights', 'redis'], Object.fromEntries(passwords));
  const configuration = await command(['rights', 'nats']);
  await using owners = new AsyncDisposableStack();
  const nats = owners.use(
    await startNats({ configuration: configuration.replace(/\$NATS_(PASSWORD_\w+)/g, '"$1"') }),
  );
  const redis = owners.use(
    await startRedis({ password: 'admin', users: acl.replace(/^user default .*\n/, '') }),
  );
  const servers = owners.move();
  const loginOf = (user: string) => login(user, nats, redis);
  await command(['provision'], loginOf('provision'));
  return { loginOf, [Symbol.asyncDispose]: () => servers.disposeAsync() };
}

function login(user: string, nats: Server, redis: Server): Record<string, string> {
  return {
    NATS_URL: nats.url,
    MESH_NATS_USER: user,
    MESH_NATS_PASSWORD: `PASSWORD_${user.toUpperCase()}`,
    REDIS_URL: `redis://${user}:secret-${user}@${redis.host}:${redis.port}`,
  };
}

/** The mesh of the README in processes of its own. */
export interface UserMesh extends AsyncDisposable {
  /** Sends a message to an app by the gateway. Returns the texts of the agents. */
  ask(app: string, message: string): Promise<string[]>;
  /** Stops all processes as a supervisor does. Returns their exit codes. */
  stop(): Promise<(number | null)[]>;
}

/** Starts the three services of the README, in the files with an extension. */
export async function startMesh(
  project: Project,
  { loginOf }: UserServers,
  { node, extension, modelUrl }: { node: string; extension: '.ts' | '.mjs'; modelUrl: string },
): Promise<UserMesh> {
  const port = await freePort();
  const start = (name: string, user: string, env: Record<string, string> = {}) =>
    project.start([node, `${name}-service${extension}`], { ...loginOf(user), ...env });
  const children = [
    start('clock', 'tool_get_time'),
    start('desk', 'agent_desk', { GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_API_KEY: 'scripted' }),
    start('gateway', 'gateway', { MESH_HTTP_PORT: String(port) }),
  ];
  const stop = async () => {
    await Promise.all(children.map((child) => endProcess(child, 'SIGTERM', 20_000)));
    return children.map(({ exitCode }) => exitCode);
  };
  const post = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  return {
    async ask(app, message) {
      const session = `s-${port}`;
      const what = `app ${app} behind the gateway`;
      await until(() => post(`/apps/${app}/users/ann/sessions/${session}`, {}), { what, timeoutMs: 60_000 });
      const run = { app_name: app, user_id: 'ann', session_id: session, new_message: message };
      const events = await until(() => post('/run', run), { what, timeoutMs: 60_000 });
      return events.flatMap(({ content }: { content?: { parts?: { text?: string }[] } }) =>
        (content?.parts ?? []).flatMap(({ text }) => text ?? []),
      );
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
