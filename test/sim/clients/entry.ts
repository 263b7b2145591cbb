import { copySession, type InvocationRef } from '@agentmesh/agent/internal';
import {
  type AddressedCall,
  cancelInvocation,
  deleteUserData,
  type FollowedRun,
  followRun,
  type Mesh,
  pendingCalls,
  rewind,
  type StartedRun,
  startRun,
} from '@agentmesh/mesh';
import type { RunCommandInput, SessionRef } from '@agentmesh/protocol';
import { app } from '../../chaos/agents.ts';
import type { Message } from '../../chaos/check/history.ts';

/** The time limit that a gateway sets for each run, in ms: the default of `MESH_RUN_TIMEOUT_MS`. */
const runTimeoutMs = 600_000;

/** The events of a run, and its end. */
export type Run = Pick<StartedRun | FollowedRun, 'numbered'> & {
  end: Promise<{ status: 'completed' | 'failed'; error?: { code: string }; resume?: string }>;
};
export type Content = NonNullable<RunCommandInput['message']>;

/** The requests of clients to a gateway. @throws MeshError for a refusal and for an outage */
export interface Entry {
  createSession(ref: SessionRef): Promise<SessionRef>;
  /** Makes a session under the id of a deleted one. */
  remakeSession(ref: SessionRef): Promise<unknown>;
  deleteSession(ref: SessionRef): Promise<unknown>;
  /** Returns whether nothing was left. */
  deleteUser(userId: string): Promise<boolean>;
  /** Returns the id of the copy. */
  fork(ref: SessionRef): Promise<string>;
  rewind(ref: SessionRef, invocationId: string): Promise<unknown>;
  start(
    message: Message,
    content: Content,
    signal: AbortSignal,
  ): Promise<Run & Pick<StartedRun, 'invocationId' | 'resume'>>;
  follow(ref: InvocationRef, afterSeq: number, signal: AbortSignal): Promise<Run>;
  cancel(ref: InvocationRef): Promise<unknown>;
  pending(ref: SessionRef): Promise<readonly AddressedCall[]>;
  save(ref: SessionRef, filename: string, text: string): Promise<unknown>;
}

/** Returns the requests as calls of the functions that the routes call. */
export function meshEntry(mesh: Mesh): Entry {
  const { sessions, artifacts } = mesh;
  return {
    async createSession(ref) {
      await sessions.getOrCreateSession({ ...ref, isNewId: true });
      return ref;
    },
    remakeSession: (ref) => sessions.createSession(ref),
    deleteSession: (ref) => sessions.deleteSession(ref),
    deleteUser: async (userId) => (await deleteUserData(mesh, { appName: app, userId })).complete,
    fork: (ref) => copySession(sessions, ref, {}),
    rewind: (ref, invocationId) => rewind(mesh, ref, invocationId),
    start({ session, whenBusy, stateDelta, client, deadlineMs }, message, signal) {
      const { appName, userId: user, sessionId } = session;
      const command = {
        app: appName,
        user,
        session: sessionId,
        message,
        whenBusy,
        ...(client && { client }),
      };
      return startRun(
        mesh,
        { ...command, runConfig: { streamingMode: 'sse' }, ...(stateDelta && { stateDelta }) },
        { whenAbsent: 'enqueue', signal, timeoutMs: deadlineMs ?? runTimeoutMs },
      );
    },
    follow: (ref, afterSeq, signal) => followRun(mesh, ref, { afterSeq, signal }),
    cancel: (ref) => cancelInvocation(mesh, ref),
    pending: ({ appName, userId, sessionId }) =>
      pendingCalls(mesh, { app: appName, user: userId, session: sessionId }),
    save: (ref, filename, text) => artifacts.saveArtifact({ ...ref, filename, artifact: { text } }),
  };
}
