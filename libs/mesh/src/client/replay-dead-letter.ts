import { type DeadLetter, MeshError, runCommandSchema } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { type StartedRun, startRun } from './start-run.ts';

/**
 * Starts the run of a dead letter again, as a new invocation with the same message: the old invocation has
 * ended, and its watchers know that. Remove the letter afterwards.
 *
 * @throws MeshError `failed_precondition` for a letter without a readable run, or whose message is gone with
 * its session
 */
export async function replayDeadLetter(mesh: Mesh, letter: DeadLetter): Promise<StartedRun> {
  const { data: command } = runCommandSchema.safeParse(letter.payload);
  const { app, user, session, invocationId } = command ?? {};
  if (!command || !app || !user || !session) {
    throw new MeshError(
      'failed_precondition',
      'the dead letter holds no run that can be replayed; remove it',
    );
  }
  const log = await mesh.sessions.getSession({ appName: app, userId: user, sessionId: session });
  const userEvent = log?.events.findLast(
    (event) => event.invocationId === invocationId && event.author === 'user',
  );
  const message = command.message ?? userEvent?.content;
  if (!message) {
    throw new MeshError(
      'failed_precondition',
      'the message of the run is gone with its session; remove the dead letter',
    );
  }
  const { stateDelta, runConfig } = command;
  return await startRun(
    mesh,
    { app, user, session, message, runConfig, ...(stateDelta && { stateDelta }) },
    { whenAbsent: 'enqueue' },
  );
}
