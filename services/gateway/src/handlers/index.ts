import type { Route } from '../context/route.ts';
import { health } from './about/health.ts';
import { listApps } from './about/list-apps.ts';
import { listRoutes } from './about/list-routes.ts';
import { version } from './about/version.ts';
import { downloadArtifact, uploadArtifact } from './artifacts/artifact-content.ts';
import {
  deleteArtifact,
  getArtifact,
  getArtifactMetadata,
  listArtifactMetadata,
  listArtifacts,
  listArtifactVersions,
  saveArtifact,
} from './artifacts/artifacts.ts';
import {
  deleteNestedArtifact,
  getNestedArtifact,
  uploadNestedArtifact,
} from './artifacts/nested-artifact.ts';
import { eventGraph } from './events/event-graph.ts';
import { listEvents } from './events/list-events.ts';
import { addToMemory } from './memory/add-to-memory.ts';
import { deleteMemories } from './memory/delete-memories.ts';
import { listMemories } from './memory/list-memories.ts';
import { cancelInvocation } from './runs/cancel-invocation.ts';
import { followInvocation } from './runs/follow-invocation.ts';
import { getInvocation } from './runs/get-invocation.ts';
import { listPendingOfSession, listPendingOfUser } from './runs/list-pending.ts';
import { run } from './runs/run.ts';
import { runSse } from './runs/run-sse.ts';
import { createNamedSession } from './sessions/create-named-session.ts';
import { createSession } from './sessions/create-session.ts';
import { deleteSession } from './sessions/delete-session.ts';
import { fork } from './sessions/fork-session.ts';
import { getSession } from './sessions/get-session.ts';
import { listSessions } from './sessions/list-sessions.ts';
import { patchSession } from './sessions/patch-session.ts';
import { rewindSession } from './sessions/rewind-session.ts';
import { deleteUser } from './users/delete-user.ts';
import { exportUser } from './users/export-user.ts';

const memory = '/apps/:app/users/:user/memory';
const sessions = '/apps/:app/users/:user/sessions';
const session = `${sessions}/:session`;
const invocation = `${session}/invocations/:invocation`;
const artifacts = `${session}/artifacts`;
const artifact = `${artifacts}/:artifact`;

/**
 * The routes by which requests enter. Paths, bodies and answers follow ADK's API server; the log and the
 * routes below `invocations` are our own.
 */
export const routes: Route[] = [
  { method: 'GET', url: '/', handle: listRoutes(() => routes) },
  { method: 'GET', url: '/health', handle: health },
  { method: 'GET', url: '/version', handle: version },
  { method: 'GET', url: '/list-apps', handle: listApps },
  { method: 'GET', url: sessions, handle: listSessions },
  { method: 'POST', url: sessions, handle: createSession },
  { method: 'GET', url: session, handle: getSession },
  { method: 'POST', url: session, handle: createNamedSession },
  { method: 'PATCH', url: session, handle: patchSession },
  { method: 'DELETE', url: session, handle: deleteSession },
  { method: 'DELETE', url: '/apps/:app/users/:user', handle: deleteUser },
  { method: 'GET', url: '/apps/:app/users/:user/export', handle: exportUser },
  { method: 'PATCH', url: memory, handle: addToMemory },
  { method: 'GET', url: memory, handle: listMemories },
  { method: 'DELETE', url: memory, handle: deleteMemories },
  { method: 'POST', url: `${session}/rewind`, handle: rewindSession },
  { method: 'POST', url: `${session}/fork`, handle: fork },
  { method: 'GET', url: artifacts, handle: listArtifacts },
  { method: 'POST', url: artifacts, handle: saveArtifact },
  { method: 'GET', url: artifact, handle: getArtifact },
  { method: 'DELETE', url: artifact, handle: deleteArtifact },
  { method: 'GET', url: `${artifact}/content`, handle: downloadArtifact },
  { method: 'PUT', url: `${artifact}/content`, handle: uploadArtifact, takesBytes: true },
  { method: 'GET', url: `${artifact}/versions`, handle: listArtifactVersions },
  { method: 'GET', url: `${artifact}/versions/metadata`, handle: listArtifactMetadata },
  { method: 'GET', url: `${artifact}/versions/:version`, handle: getArtifact },
  { method: 'GET', url: `${artifact}/versions/:version/content`, handle: downloadArtifact },
  { method: 'GET', url: `${artifact}/versions/:version/metadata`, handle: getArtifactMetadata },
  { method: 'GET', url: `${artifacts}/*`, handle: getNestedArtifact },
  { method: 'DELETE', url: `${artifacts}/*`, handle: deleteNestedArtifact },
  { method: 'PUT', url: `${artifacts}/*`, handle: uploadNestedArtifact, takesBytes: true },
  { method: 'GET', url: `${session}/pending`, handle: listPendingOfSession },
  { method: 'GET', url: '/apps/:app/users/:user/pending', handle: listPendingOfUser },
  { method: 'GET', url: `${session}/events`, handle: listEvents },
  { method: 'GET', url: `${session}/events/*`, handle: eventGraph },
  { method: 'GET', url: `/dev${session}/events/*`, handle: eventGraph },
  { method: 'GET', url: invocation, handle: getInvocation },
  { method: 'GET', url: `${invocation}/events`, handle: followInvocation },
  { method: 'POST', url: `${invocation}/cancel`, handle: cancelInvocation },
  { method: 'POST', url: '/run', handle: run },
  { method: 'POST', url: '/run_sse', handle: runSse },
];
