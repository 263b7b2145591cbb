import type { ArtifactService, SessionService } from '@agentmesh/agent';
import type { DeleteSessionOptions } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { CallsOfLog, type KeptCalls } from './forget-calls.ts';

/** The stores that keep data of sessions outside the session service. */
export type KeptBeside = KeptCalls & { artifacts: ArtifactService };

/** The deletion of one session. */
interface Deletion {
  /** The sessions of the store, without the data that the mesh keeps beside them. */
  sessions: SessionService;
  kept: KeptBeside;
  ref: SessionRef;
  options: DeleteSessionOptions;
  /** Number of files that were removed. */
  files: number;
}

/**
 * The steps that delete a session, in order. Until all its data is gone, the session is found and can be
 * deleted again: a second deletion finishes a deletion that was interrupted between any two steps.
 */
const deletionSteps = [removeFiles, forgetCallsAndSession, removeLateFiles] as const;

/** Deletes a session with its files, the results of its calls and the records of its jobs. */
export async function deleteSession(what: Omit<Deletion, 'files'>): Promise<void> {
  const deletion = { ...what, files: 0 };
  for (const step of deletionSteps) await step(deletion);
  deletion.options.onDeleted?.('artifacts', deletion.files);
}

/**
 * Removes the session's files. After a crash behind this step readers still find the session, without files,
 * and it can be deleted again.
 */
async function removeFiles(deletion: Deletion): Promise<void> {
  const { appName, userId, sessionId } = deletion.ref;
  deletion.files += await deletion.kept.artifacts.deleteAll({ appName, userId, sessionId });
}

/**
 * Removes the session from its store, in the steps of the store (Redis: `deletionSteps` in
 * `libs/store/src/sessions/delete-session.ts`). The steps for each page of a log, of the session or of a
 * child session:
 *
 * 1. The results of the page's calls and the records of their jobs are forgotten.
 * 2. The caller of the deletion gets the page.
 * 3. The store removes the page.
 *
 * After a crash before step 3 the page is still in the log, and a second deletion gets the page again.
 */
async function forgetCallsAndSession({ sessions, kept, ref, options }: Deletion): Promise<void> {
  const logs = new Map<string, CallsOfLog>();
  await sessions.deleteSession(ref, {
    ...options,
    async onEvents(of, page) {
      const log = logs.get(of.sessionId) ?? new CallsOfLog(of, kept);
      logs.set(of.sessionId, log);
      if (page.length === 0) logs.delete(of.sessionId);
      options.onDeleted?.('callResults', await log.forgetPage(page));
      await options.onEvents?.(of, page);
    },
  });
}

/**
 * Removes the files that a tool saved during the deletion. After a crash before this step the files stay
 * until a session with this id is created, or the sweep finds them.
 */
async function removeLateFiles(deletion: Deletion): Promise<void> {
  await removeFiles(deletion);
}
