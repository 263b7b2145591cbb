import { endOfRun } from '@agentmesh/agent/internal';
import type { StoredItem, WorkItem, WorkOutcome } from '@agentmesh/bus';
import { decodeToken, MeshError, newSession, type RunCommand, runCommandSchema } from '@agentmesh/protocol';
import { unvouchedSource } from '../answers/answer-source.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { readPayload } from '../messages/read-payload.ts';
import { runInHeader } from '../messages/run-header.ts';
import type { Run } from './run.ts';

/**
 * Reads a run command, and fills in the values that it leaves out: the same for every delivery, because they
 * follow from the key of the message. The command's own word for the source of its answers does not count.
 *
 * @throws MeshError `invalid_argument` for a command that cannot be read, and for a command on the subject of
 * another session
 */
export function readRun({ agent, app, mesh }: ServedAgent, item: WorkItem): Run {
  const command = readPayload(runCommandSchema, item, 'the run command');
  if (command.hop === 0 && command.message === undefined) {
    throw new MeshError(
      'invalid_argument',
      'the run command has no message; only the next hop of a run has none',
    );
  }
  const run = completeRun(command, item, app ?? agent.name);
  if (command.session !== undefined && command.session !== sessionIn(item.subject)) {
    throw new MeshError(
      'invalid_argument',
      `the run command names session ${command.session}: publish it on ${mesh.subjects.agentRun(agent.name, command.session)}, not on ${item.subject}`,
    );
  }
  return { ...run, answeredBy: unvouchedSource(run) };
}

/**
 * Moves a command that cannot be read to the dead letters, unless its run has ended. The payload of a large command
 * is removed after its acknowledgement, and a killed NATS server may forget the latter.
 */
export async function dropUnreadable(
  { mesh, agent }: ServedAgent,
  item: WorkItem,
  error: MeshError,
): Promise<WorkOutcome> {
  const ref = error.code === 'failed_precondition' ? runInHeader(item.headers) : undefined;
  try {
    const end = ref && endOfRun(await mesh.sessions.invocations.get(ref), ref.resume);
    if (end) {
      mesh.log.info(
        { agent: agent.name, ...ref },
        'dropped the command of an ended run; its payload is gone',
      );
      return { done: true };
    }
    await moveToDeadLetters(mesh, { kind: 'agent', name: agent.name }, item, error);
    return { done: true };
  } catch (thrown) {
    mesh.log.warn({ err: thrown, subject: item.subject }, 'could not drop an unreadable run command');
    return { done: false, delayMs: 1_000 };
  }
}

/** Returns a run command with values for all fields that a command may leave out. */
export function completeRun(
  command: RunCommand,
  { key, subject }: Pick<StoredItem, 'key' | 'subject'>,
  app: string,
): Run {
  const named = command.session ?? sessionIn(subject);
  const fresh = command.session === undefined && named === newSession;
  return {
    ...command,
    invocationId: command.invocationId ?? `e-${key}`,
    app: command.app ?? app,
    session: fresh ? `s-${key}` : named,
    fresh,
  };
}

/** Returns the session that the subject of a run command names. @throws MeshError `invalid_argument` */
function sessionIn(subject: string): string {
  return decodeToken(subject.slice(subject.lastIndexOf('.') + 1));
}
