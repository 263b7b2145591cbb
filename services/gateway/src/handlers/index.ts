import type { Entrance, Route } from '../context/route.ts';
import { consoleFile } from '../web/console-page.ts';
import { docsFile, docsPage } from '../web/docs-page.ts';
import { appInfo } from './about/app-info.ts';
import { health } from './about/health.ts';
import { listApps } from './about/list-apps.ts';
import { listRoutes } from './about/list-routes.ts';
import { openApi } from './about/open-api.ts';
import { version } from './about/version.ts';
import { runAgUi } from './ag-ui/run-ag-ui.ts';
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
import { devRoutes } from './dev/routes.ts';
import { eventGraph } from './events/event-graph.ts';
import { listEvents } from './events/list-events.ts';
import { addToMemory } from './memory/add-to-memory.ts';
import { deleteMemories } from './memory/delete-memories.ts';
import { listMemories } from './memory/list-memories.ts';
import { meshRoutes } from './mesh/routes.ts';
import { withOperations } from './operations.ts';
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
 * The routes by which requests enter; `operations.ts` describes each. Paths, bodies and answers follow ADK's API server; the log and the
 * routes below `invocations` are our own.
 */
const entrances: Entrance[] = [
  { method: 'GET', url: '/', handle: listRoutes(() => routes), role: 'user' },
  { method: 'GET', url: '/health', handle: health, role: 'public' },
  { method: 'GET', url: '/version', handle: version, role: 'public' },
  { method: 'GET', url: '/openapi.json', handle: openApi(() => routes), role: 'public' },
  { method: 'GET', url: '/docs', handle: docsPage, role: 'public' },
  { method: 'GET', url: '/docs/:file', handle: docsFile, role: 'public' },
  { method: 'GET', url: '/console', handle: consoleFile, role: 'public' },
  { method: 'GET', url: '/console/:file', handle: consoleFile, role: 'public' },
  { method: 'GET', url: '/list-apps', handle: listApps, role: 'user' },
  { method: 'GET', url: '/apps/:app/app-info', handle: appInfo, role: 'user' },
  { method: 'GET', url: sessions, handle: listSessions, role: 'user' },
  { method: 'POST', url: sessions, handle: createSession, role: 'user' },
  { method: 'GET', url: session, handle: getSession, role: 'user' },
  { method: 'POST', url: session, handle: createNamedSession, role: 'user' },
  { method: 'PATCH', url: session, handle: patchSession, role: 'user' },
  { method: 'DELETE', url: session, handle: deleteSession, role: 'user', audit: 'delete' },
  { method: 'DELETE', url: '/apps/:app/users/:user', handle: deleteUser, role: 'user', audit: 'delete' },
  { method: 'GET', url: '/apps/:app/users/:user/export', handle: exportUser, role: 'user', audit: 'export' },
  { method: 'PATCH', url: memory, handle: addToMemory, role: 'user' },
  { method: 'GET', url: memory, handle: listMemories, role: 'user' },
  { method: 'DELETE', url: memory, handle: deleteMemories, role: 'user', audit: 'delete' },
  { method: 'POST', url: `${session}/rewind`, handle: rewindSession, role: 'user' },
  { method: 'POST', url: `${session}/fork`, handle: fork, role: 'user' },
  { method: 'GET', url: artifacts, handle: listArtifacts, role: 'user' },
  { method: 'POST', url: artifacts, handle: saveArtifact, role: 'user' },
  { method: 'GET', url: artifact, handle: getArtifact, role: 'user' },
  { method: 'DELETE', url: artifact, handle: deleteArtifact, role: 'user', audit: 'delete' },
  { method: 'GET', url: `${artifact}/content`, handle: downloadArtifact, role: 'user' },
  { method: 'PUT', url: `${artifact}/content`, handle: uploadArtifact, role: 'user', takesBytes: true },
  { method: 'GET', url: `${artifact}/versions`, handle: listArtifactVersions, role: 'user' },
  { method: 'GET', url: `${artifact}/versions/metadata`, handle: listArtifactMetadata, role: 'user' },
  { method: 'GET', url: `${artifact}/versions/:version`, handle: getArtifact, role: 'user' },
  { method: 'GET', url: `${artifact}/versions/:version/content`, handle: downloadArtifact, role: 'user' },
  { method: 'GET', url: `${artifact}/versions/:version/metadata`, handle: getArtifactMetadata, role: 'user' },
  { method: 'GET', url: `${artifacts}/*`, handle: getNestedArtifact, role: 'user' },
  { method: 'DELETE', url: `${artifacts}/*`, handle: deleteNestedArtifact, role: 'user', audit: 'delete' },
  { method: 'PUT', url: `${artifacts}/*`, handle: uploadNestedArtifact, role: 'user', takesBytes: true },
  {
    method: 'GET',
    url: `${session}/pending`,
    handle: listPendingOfSession,
    role: 'user',
    others: 'approver',
  },
  {
    method: 'GET',
    url: '/apps/:app/users/:user/pending',
    handle: listPendingOfUser,
    role: 'user',
    others: 'approver',
  },
  { method: 'GET', url: `${session}/events`, handle: listEvents, role: 'user' },
  { method: 'GET', url: `${session}/events/*`, handle: eventGraph, role: 'user' },
  { method: 'GET', url: `/dev${session}/events/*`, handle: eventGraph, role: 'user' },
  { method: 'GET', url: invocation, handle: getInvocation, role: 'user' },
  { method: 'GET', url: `${invocation}/events`, handle: followInvocation, role: 'user', load: 'stream' },
  { method: 'POST', url: `${invocation}/cancel`, handle: cancelInvocation, role: 'user' },
  { method: 'POST', url: '/run', handle: run, role: 'user', load: 'run' },
  { method: 'POST', url: '/run_sse', handle: runSse, role: 'user', load: 'run' },
  {
    method: 'POST',
    url: '/apps/:app/users/:user/ag-ui',
    handle: runAgUi,
    role: 'user',
    others: 'approver',
    load: 'run',
  },
  ...meshRoutes,
  ...devRoutes,
];

/** All routes, with what clients send to them and get from them. */
export const routes: readonly Route[] = withOperations(entrances);
