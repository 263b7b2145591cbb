import type { Session } from '@agentmesh/agent';
import type { CallCount, EndingCommit } from '@agentmesh/agent/internal';
import type { WorkItem } from '@agentmesh/bus';
import type { Headers, RunCommand } from '@agentmesh/protocol';
import { sealAnswers } from '../answers/sealed-answers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import type { Tally } from '../mesh/outcomes.ts';

/** A run command with values for all fields that a command may leave out. */
export interface Run extends RunCommand {
  invocationId: string;
  app: string;
  session: string;
  /** True if the command named no session: the run gets a new one. */
  fresh: boolean;
}

/** One delivery of a run command. */
export interface DeliveredRun {
  item: WorkItem;
  /** The time of its arrival, epoch ms: the begin of a wait. Each take of the delivery tells the same one. */
  arrived: number;
  /** Headers of every message that is sent for the run. */
  carrier: Headers;
  /** The fencing token of the run's commits; undefined until the run begins. */
  token: number | undefined;
  /**
   * Reason of a cancellation that was recorded before this delivery took the run. The run may have said its
   * last word before.
   */
  cancelled?: string;
  /** The model calls of the run that the store does not know; undefined until the run begins. */
  calls?: CallCount;
  /** The end that was committed with the last event of the run, if one was; without `isIdle` the commit failed. */
  ending?: EndingCommit;
  /** True if the last event told the watchers that the run has ended. */
  toldEnd?: boolean;
  /** Counts what the run costs. */
  tally: Tally;
  /** The session of the run; undefined until it is read. */
  session?: Session;
}

/**
 * Seals the credentials in a run command before the command is kept: other publishers may have sent
 * credentials in plain text. @throws as {@link sealAnswers}
 */
export async function sealRun(mesh: Pick<Mesh, 'box'>, run: Run): Promise<Run> {
  const { message, app: appName, user: userId, session: sessionId } = run;
  if (!message) return run;
  return { ...run, message: await sealAnswers(mesh, { appName, userId, sessionId }, message) };
}

/** A delivery whose session is open. */
export type OpenRun = DeliveredRun & { session: Session };
