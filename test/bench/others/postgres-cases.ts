import type { Mesh } from '@agentmesh/mesh';
import type { AsyncDisposableStack } from '@agentmesh/protocol';
import { DatabaseSessionService, Runner } from '@google/adk';
import { type Case, durableTurn, turnInProcess } from '../cases.ts';
import { instantAdkAgent } from '../instant-adk-agent.ts';

/** The number of sessions in which turns go on at the same time, and the turns after which a new session begins. */
const [sessions, turnsOfSession] = [20, 10];

/**
 * Makes the cases of turns in 20 sessions at the same time: durable ones, and ADK's with sessions in PostgreSQL, whose
 * connections belong to `owners`.
 */
export async function postgresCases(
  owners: InstanceType<typeof AsyncDisposableStack>,
  mesh: Mesh,
  url: string,
): Promise<Case[]> {
  const appName = 'postgres_app';
  const sessionService = new DatabaseSessionService(url);
  // The first session makes the database and the rows that all sessions share.
  await sessionService.createSession({ appName, userId: 'first' });
  // ADK has no method that closes its connections.
  owners.defer(() => (Reflect.get(sessionService, 'orm') as { close(): Promise<void> }).close());
  const runner = new Runner({ appName, agent: instantAdkAgent('turn_agent'), sessionService });
  const user = users();
  const shared = { inFlight: sessions, count: 200 };
  return [
    {
      ...{ id: 'sessions-turn', name: 'durable turn, 20 sessions', ...shared },
      once: inSessions(() => durableTurn(mesh, user())),
    },
    {
      ...{ id: 'sessions-adk', name: 'ADK with PostgreSQL, 20 sessions', ...shared },
      once: inSessions(async () => {
        const userId = user();
        const { id: sessionId } = await sessionService.createSession({ appName, userId });
        return () => turnInProcess(runner, sessionId, userId);
      }),
    },
  ];
}

/** Returns a function that names a user for each session. A user has a share of the running work. */
function users(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `sessions-${count}`;
  };
}

/** Returns a function that does the next turn of a session in which no turn is at work. */
function inSessions(open: () => Promise<() => Promise<void>>): () => Promise<void> {
  const idle: { turn: () => Promise<void>; turns: number }[] = [];
  return async () => {
    const session = idle.shift() ?? { turn: await open(), turns: 0 };
    await session.turn();
    session.turns += 1;
    if (session.turns < turnsOfSession) idle.push(session);
  };
}
