import type { Session } from '@agentmesh/agent';
import {
  assertContinues,
  logIndex,
  messageEventId,
  notResumable,
  orRefused,
  readMessage,
} from '@agentmesh/agent/internal';
import type { AgentCard } from '@agentmesh/protocol';
import { openAnswers } from '../answers/sealed-answers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { refOf } from '../messages/publish-event.ts';
import type { Run } from './run.ts';

/**
 * Checks that invocations of the root's app can be continued. @throws MeshError `failed_precondition` if not
 */
export function assertResumable({ resumable, app, name }: AgentCard): void {
  if (!resumable) throw notResumable(app ?? name);
}

/**
 * Checks a run that continues an invocation, before the run takes the session: a run without the right to
 * continue would revive the invocation. A message in the log was checked before it was committed.
 *
 * @throws MeshError `failed_precondition` and the errors of `readMessage`, as a refusal
 */
export async function checkContinuation(mesh: Mesh, run: Run, session: Session): Promise<void> {
  const { app, invocationId, resume, message = {} } = run;
  const { id: sessionId, events, userId } = session;
  if (resume === undefined || logIndex(events).has(messageEventId(run, sessionId))) return;
  const root = await rootOf(mesh, app);
  await orRefused(async () => {
    assertResumable(root);
    const { answeredBy } = run;
    readMessage(await openAnswers(mesh, refOf(session), message), { events, answeredBy, userId });
    assertContinues(message, { events, invocationId });
  });
}
