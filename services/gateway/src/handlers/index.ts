import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { addToMemory } from './add-to-memory.ts';
import { downloadArtifact, uploadArtifact } from './artifact-content.ts';
import {
  deleteArtifact,
  getArtifact,
  getArtifactMetadata,
  listArtifactMetadata,
  listArtifacts,
  listArtifactVersions,
  saveArtifact,
} from './artifacts.ts';
import { cancelInvocation } from './cancel-invocation.ts';
import { createNamedSession } from './create-named-session.ts';
import { createSession } from './create-session.ts';
import { deleteMemories } from './delete-memories.ts';
import { deleteSession } from './delete-session.ts';
import { deleteUser } from './delete-user.ts';
import { eventGraph } from './event-graph.ts';
import { exportUser } from './export-user.ts';
import { followInvocation } from './follow-invocation.ts';
import { fork } from './fork-session.ts';
import { getInvocation } from './get-invocation.ts';
import { getSession } from './get-session.ts';
import { health } from './health.ts';
import { index } from './index-page.ts';
import { listApps } from './list-apps.ts';
import { listEvents } from './list-events.ts';
import { listMemories } from './list-memories.ts';
import { listPendingOfSession, listPendingOfUser } from './list-pending.ts';
import { listSessions } from './list-sessions.ts';
import { deleteNestedArtifact, getNestedArtifact, uploadNestedArtifact } from './nested-artifact.ts';
import { patchSession } from './patch-session.ts';
import { rewind } from './rewind-session.ts';
import { run } from './run.ts';
import { runSse } from './run-sse.ts';
import { version } from './version.ts';

export type Handler = (context: GatewayContext, request: FastifyRequest, reply: FastifyReply) => unknown;

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  handle: Handler;
  /** The body is bytes of any type, and comes as a stream. */
  takesBytes?: true;
}

const memory = '/apps/:app/users/:user/memory';
const sessions = '/apps/:app/users/:user/sessions';
const session = `${sessions}/:session`;
const invocation = `${session}/invocations/:invocation`;
const artifacts = `${session}/artifacts`;
const artifact = `${artifacts}/:artifact`;

/** Where a request enters. Paths, bodies and answers are those of ADK's API server; what is below `invocations` and the log are our own. */
export const routes: Route[] = [
  { method: 'GET', url: '/', handle: index },
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
  { method: 'POST', url: `${session}/rewind`, handle: rewind },
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
