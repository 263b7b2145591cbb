import type { Session } from '@agentmesh/agent';
import type { WorkItem } from '@agentmesh/bus';
import type { Headers, RunCommand } from '@agentmesh/protocol';
import { sealAnswers } from '../answers/sealed-answers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import type { Tally } from '../mesh/outcomes.ts';

/** A run with all that a command may leave out. */
export interface Run extends RunCommand {
  invocationId: string;
  app: string;
  session: string;
  /** The command named no session: it gets one of its own. */
  fresh: boolean;
}

/** One delivery of a run command. */
export interface DeliveredRun {
  item: WorkItem;
  /** Go with every message sent for it. */
  carrier: Headers;
  /** What it commits under; undefined until it begins. */
  token: number | undefined;
  /** What it costs. */
  tally: Tally;
  /** The session that it works on; undefined until it is read. */
  session?: Session;
}

/** A run command as it may be kept: one that was not published by us may hold plain credentials. @throws as {@link sealAnswers} */
export async function sealRun(mesh: Pick<Mesh, 'box'>, run: Run): Promise<Run> {
  const { message, app: appName, user: userId, session: sessionId } = run;
  if (!message) return run;
  return { ...run, message: await sealAnswers(mesh, { appName, userId, sessionId }, message) };
}
