import { clientInputOf } from '@agentmesh/agent/internal';
import type { StoredDeadLetter } from '@agentmesh/bus';
import {
  type DeadLetter,
  decodeToken,
  digestOf,
  MeshError,
  messageSchema,
  newSession,
  parse,
  runCommandSchema,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { agentsOf } from '../remote/transfer-port.ts';
import { type RunOptions, type StartedRun, startRun } from './start-run.ts';

/**
 * Starts the run of a dead letter again, as a new invocation with the same message: the old invocation has
 * ended, and its watchers know that. Remove the letter afterwards. `signal` ends the watching of the run. A letter
 * that is replayed twice, by two operators or after a crash before its removal, is one run.
 *
 * A letter is what its writer says, and the replay acts with the rights of the operator. It therefore starts only what
 * the writer may start itself: a run of an app to which the agent belongs, whose message answers no question.
 *
 * @throws MeshError `failed_precondition` for a letter without a readable run, or whose message is gone with
 * its session, or answers calls; `permission_denied` for a letter about a run that is not of its writer
 */
export async function replayDeadLetter(
  mesh: Mesh,
  stored: StoredDeadLetter,
  { signal }: Pick<RunOptions, 'signal'> = {},
): Promise<StartedRun> {
  const { command, app, user, session } = runIn(stored.letter);
  assertOwn(mesh, stored, app);
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
  if (answersCalls(message))
    throw notReplayable('its message answers calls, and only who gives an answer may send it');
  const { stateDelta, runConfig } = command;
  const client = command.client ?? (userEvent && clientInputOf(userEvent));
  return await startRun(
    mesh,
    { app, user, session, message, runConfig, ...(stateDelta && { stateDelta }), ...(client && { client }) },
    { whenAbsent: 'enqueue', ids: { invocationId: idOf(stored) }, ...(signal && { signal }) },
  );
}

/** Returns the id of the invocation that replays a letter: each letter has its own. */
function idOf({ seq, letter }: StoredDeadLetter): string {
  return `e-replay-${digestOf([seq, letter])}`;
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

/** @throws MeshError `permission_denied` for a letter about a run that is not of its writer */
function assertOwn(mesh: Mesh, { seq, writer, isForeign, letter }: StoredDeadLetter, app: string): void {
  if (writer.kind === 'operator') return;
  if (isForeign || writer.kind !== 'agent') throw forged(seq, writer, letter.subject);
  if (!agentsOf(mesh, app).has(writer.name)) throw forged(seq, writer, `a run of app ${app}`);
}

function forged(seq: number, { kind, name }: StoredDeadLetter['writer'], what: string): MeshError {
  return new MeshError(
    'permission_denied',
    `dead letter ${seq} cannot be replayed: ${kind} ${name} wrote it about ${what}, which is not its own work; find out why, and remove it`,
  );
}

function answersCalls(message: unknown): boolean {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  return parts.some(({ functionResponse }) => functionResponse !== undefined);
}

function notReplayable(reason: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `the dead letter cannot be replayed, because ${reason}; remove it, and send its message again if it is still wanted`,
  );
}
