import { type DeadLetter, decodeToken, MeshError, newSession, runCommandSchema } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { type RunOptions, type StartedRun, startRun } from './start-run.ts';

/**
 * Starts the run of a dead letter again, as a new invocation with the same message: the old invocation has
 * ended, and its watchers know that. Remove the letter afterwards. `signal` ends the watching of the run.
 *
 * @throws MeshError `failed_precondition` for a letter without a readable run, or whose message is gone with
 * its session
 */
export async function replayDeadLetter(
  mesh: Mesh,
  letter: DeadLetter,
  { signal }: Pick<RunOptions, 'signal'> = {},
): Promise<StartedRun> {
  const { command, app, user, session } = runIn(letter);
  const { invocationId } = command;
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
    { whenAbsent: 'enqueue', ...(signal && { signal }) },
  );
}

/** Returns the run of a letter, with its session. @throws MeshError `failed_precondition` */
function runIn({ payload, subject }: DeadLetter) {
  const { data: command, error } = runCommandSchema.safeParse(payload);
  if (!command) {
    const [problem] = error.issues;
    const where = problem && problem.path.length > 0 ? `${problem.path.join('.')}: ` : '';
    throw notReplayable(`its payload is no run command (${where}${problem?.message})`);
  }
  const named = command.session ?? decodeToken(subject.slice(subject.lastIndexOf('.') + 1));
  const session = command.session === undefined && named === newSession ? undefined : named;
  const { app, user } = command;
  if (app && user && session) return { command, app, user, session };
  const missing = Object.entries({ app, user, session }).flatMap(([name, value]) => (value ? [] : [name]));
  throw notReplayable(`its run names no ${missing.join(' and no ')}`);
}

function notReplayable(reason: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `the dead letter cannot be replayed, because ${reason}; remove it, and send its message again if it is still wanted`,
  );
}
