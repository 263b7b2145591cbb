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

/** @throws MeshError `failed_precondition` when invocations of the root's app are not continued */
export function assertResumable({ resumable, app, name }: AgentCard): void {
  if (!resumable) throw notResumable(app ?? name);
}

/**
 * A run that continues an invocation is checked before it takes the session: one that may not would bring the invocation to life again. What
 * is said already was checked.
 *
 * @throws MeshError `failed_precondition` and those of `readMessage`, as a refusal
 */
export async function checkContinuation(mesh: Mesh, run: Run, session: Session): Promise<void> {
  const { app, invocationId, resume, message = {} } = run;
  const { id: sessionId, events } = session;
  if (resume === undefined || logIndex(events).has(messageEventId(run, sessionId))) return;
  const root = await rootOf(mesh, app);
  await orRefused(async () => {
    assertResumable(root);
    readMessage(await openAnswers(mesh, refOf(session), message), { events, via: run.answeredBy?.via });
    assertContinues(message, { events, invocationId });
  });
}
