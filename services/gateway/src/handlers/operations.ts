import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import { pendingReplySchema } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Operation } from '../context/operation.ts';
import type { Entrance, Route } from '../context/route.ts';
import {
  appInfoAnswer,
  appsAnswer,
  artifactPart,
  artifactVersion,
  deletedUserAnswer,
  drawing,
  eventsPage,
  invocationAnswer,
  memoriesAnswer,
  sessionAnswer,
} from '../contract/answers.ts';
import { versionQuery } from '../params/artifact-ref.ts';
import { runBody } from '../runs/start-requested-run.ts';
import { listAppsQuery } from './about/list-apps.ts';
import { saveArtifactBody } from './artifacts/artifacts.ts';
import { devOperations } from './dev/operations.ts';
import { listEventsQuery } from './events/list-events.ts';
import { addToMemoryBody } from './memory/add-to-memory.ts';
import { deleteMemoriesQuery } from './memory/delete-memories.ts';
import { listMemoriesQuery } from './memory/list-memories.ts';
import { meshOperations } from './mesh/operations.ts';
import { cancelBody } from './runs/cancel-invocation.ts';
import { followQuery } from './runs/follow-invocation.ts';
import { runSseQuery } from './runs/run-sse.ts';
import { forkBody } from './sessions/fork-session.ts';
import { getSessionQuery } from './sessions/get-session.ts';
import { listSessionsQuery } from './sessions/list-sessions.ts';
import { namedSessionBody, newSessionBody } from './sessions/new-session.ts';
import { patchSessionBody } from './sessions/patch-session.ts';
import { rewindBody } from './sessions/rewind-session.ts';

const user = '/apps/:app/users/:user';
const session = `${user}/sessions/:session`;
const invocation = `${session}/invocations/:invocation`;
const artifacts = `${session}/artifacts`;
const artifact = `${artifacts}/:artifact`;

const nothing = z.null();
const event = eventsPage.shape.events.element.shape.event;
const runHeaders = {
  'x-invocation-id': 'the invocation',
  'x-resume-id': 'the run, if it continues the invocation',
};
const runRequestHeaders = {
  'Idempotency-Key': 'a key of the client: the same request with the same key is the same run',
};
const failedRun = {
  409: 'the run was overtaken; send the request again',
  412: 'the state of the session does not allow the run',
  499: 'the run was cancelled',
  504: 'the run took too long',
};
const bytesHeaders = { 'artifact-version': 'the number of the version' };
const listVersions = z.array(z.number().int());
/** The forms of the routes for names with slashes. */
const nested = `${artifacts}/{folder}/*`;

const operations: Readonly<Record<string, Operation>> = {
  'GET /': {
    summary: 'lists the routes',
    answer: z.looseObject({ name: z.string(), routes: z.array(z.string()) }),
  },
  'GET /health': {
    summary: '200 when the gateway can serve, else 503',
    answer: z.looseObject({ status: z.literal('ok') }),
    others: { 503: 'the gateway cannot serve; `reasons` says why' },
  },
  'GET /version': {
    summary: 'version and language',
    answer: z.looseObject({ version: z.string(), language: z.string(), languageVersion: z.string() }),
  },
  'GET /openapi.json': {
    summary: 'the OpenAPI 3.1 document of these routes',
    answer: z.looseObject({ openapi: z.string() }),
  },
  'GET /docs': { summary: 'this document as a page', answer: 'text/html' },
  'GET /docs/:file': { summary: 'a script or a style of this page', answer: '*/*' },
  'GET /console': { summary: 'the console, a page for operators', answer: 'text/html' },
  'GET /console/:file': { summary: 'a script or a style of this page', answer: '*/*' },
  'GET /list-apps': {
    summary: 'names of the apps; with `detailed=true` also their root agents',
    query: listAppsQuery,
    answer: appsAnswer,
  },
  'GET /apps/:app/app-info': { summary: 'an app with its agents and their tools', answer: appInfoAnswer },
  [`GET ${user}/sessions`]: {
    summary: 'sessions of a user, newest first; header `x-total-count`',
    query: listSessionsQuery,
    answer: z.array(sessionAnswer),
    answerHeaders: { 'x-total-count': 'number of the sessions on all pages' },
  },
  [`POST ${user}/sessions`]: {
    summary: 'makes a session',
    body: newSessionBody,
    isBodyOptional: true,
    answer: sessionAnswer,
    others: { 409: 'there is a session with this id' },
  },
  [`GET ${session}`]: { summary: 'a session with its events', query: getSessionQuery, answer: sessionAnswer },
  [`POST ${session}`]: {
    summary: 'makes a session with this id; the body may also be the state itself',
    body: z.union([namedSessionBody, z.record(z.string(), z.unknown())]),
    isBodyOptional: true,
    answer: sessionAnswer,
    others: { 409: 'there is a session with this id' },
  },
  [`PATCH ${session}`]: {
    summary: 'changes the state of a session',
    body: patchSessionBody,
    answer: sessionAnswer,
  },
  [`DELETE ${session}`]: {
    summary: 'deletes a session with all that belongs to it',
    answer: nothing,
  },
  [`DELETE ${user}`]: { summary: 'deletes all data of a user', answer: deletedUserAnswer },
  [`GET ${user}/export`]: {
    summary: 'all data of a user, as lines of JSON',
    answer: 'application/x-ndjson',
  },
  [`PATCH ${user}/memory`]: {
    summary: 'adds a session to the memory',
    body: addToMemoryBody,
    answer: nothing,
  },
  [`GET ${user}/memory`]: {
    summary: 'searches or lists memories',
    query: listMemoriesQuery,
    answer: memoriesAnswer,
  },
  [`DELETE ${user}/memory`]: {
    summary: 'deletes memories: those of `sessionId`, or with `all=true` all of the user',
    query: deleteMemoriesQuery,
    answer: z.looseObject({ deleted: z.number().int() }),
  },
  [`POST ${session}/rewind`]: {
    summary: 'takes a session back to its state before an invocation',
    body: rewindBody,
    answer: sessionAnswer,
  },
  [`POST ${session}/fork`]: {
    summary: 'copies a session',
    body: forkBody,
    isBodyOptional: true,
    answer: sessionAnswer,
  },
  [`GET ${artifacts}`]: { summary: 'names of the artifacts', answer: z.array(z.string()) },
  [`POST ${artifacts}`]: {
    summary: 'saves an artifact, a Part, as a new version',
    body: saveArtifactBody,
    answer: artifactVersion,
  },
  [`GET ${artifact}`]: {
    summary: 'an artifact as a Part',
    query: versionQuery.shape,
    answer: artifactPart,
    others: { 412: 'the file is too large for JSON; get its bytes' },
  },
  [`DELETE ${artifact}`]: { summary: 'deletes an artifact with all versions', answer: nothing },
  [`GET ${artifact}/content`]: {
    summary: 'the bytes of an artifact',
    query: versionQuery.shape,
    answer: '*/*',
    answerHeaders: bytesHeaders,
  },
  [`PUT ${artifact}/content`]: {
    summary: 'saves the body as a new version',
    body: 'bytes',
    isBodyOptional: true,
    answer: artifactVersion,
  },
  [`GET ${artifact}/versions`]: { summary: 'numbers of the versions', answer: listVersions },
  [`GET ${artifact}/versions/metadata`]: {
    summary: 'facts about all versions',
    answer: z.array(artifactVersion),
  },
  [`GET ${artifact}/versions/:version`]: { summary: 'a version as a Part', answer: artifactPart },
  [`GET ${artifact}/versions/:version/content`]: {
    summary: 'the bytes of a version',
    answer: '*/*',
    answerHeaders: bytesHeaders,
  },
  [`GET ${artifact}/versions/:version/metadata`]: {
    summary: 'facts about a version',
    answer: artifactVersion,
  },
  [`GET ${artifacts}/*`]: {
    path: nested,
    summary: 'the same for names with `/` that are not encoded',
    query: versionQuery.shape,
    answer: '*/*',
  },
  [`DELETE ${artifacts}/*`]: { path: nested, summary: 'the same for names with `/`', answer: nothing },
  [`PUT ${artifacts}/*`]: {
    path: nested,
    summary: 'the same for names with `/`',
    body: 'bytes',
    isBodyOptional: true,
    answer: artifactVersion,
  },
  [`GET ${session}/pending`]: {
    summary: 'calls of a session that wait for an answer',
    answer: pendingReplySchema,
  },
  [`GET ${user}/pending`]: {
    summary: 'calls of all sessions of a user that wait for an answer',
    answer: pendingReplySchema,
  },
  [`GET ${session}/events`]: {
    summary: 'a page of the log: events with their numbers',
    query: listEventsQuery,
    answer: eventsPage,
  },
  [`GET ${session}/events/*`]: {
    path: `${session}/events/{event}/graph`,
    summary: 'the graph of an event: `…/events/<event>/graph`',
    answer: drawing,
  },
  [`GET /dev${session}/events/*`]: {
    path: `/dev${session}/events/{event}/graph`,
    summary: "the same at the address of ADK's Python server",
    answer: drawing,
  },
  [`GET ${invocation}`]: {
    summary: 'the state of a run: `status`, `lastSeq`, `llmCalls`, `error`',
    answer: invocationAnswer,
  },
  [`GET ${invocation}/events`]: {
    summary: 'the events of a run as a stream, also after it began',
    query: followQuery,
    headers: { 'Last-Event-ID': 'the id of the last event that came; counts more than `after`' },
    answer: 'text/event-stream',
    answerHeaders: runHeaders,
    others: { 204: 'the run is over, and no event follows' },
  },
  [`POST ${invocation}/cancel`]: {
    summary: 'cancels a run; 202 with its state',
    body: cancelBody,
    isBodyOptional: true,
    answer: invocationAnswer,
    status: 202,
  },
  'POST /run': {
    summary: 'runs to the end; all events as a list',
    headers: runRequestHeaders,
    body: runBody,
    answer: z.array(event),
    answerHeaders: runHeaders,
    others: failedRun,
  },
  'POST /run_sse': {
    summary: 'runs; each event as it happens (server-sent events)',
    headers: runRequestHeaders,
    query: runSseQuery,
    body: runBody,
    answer: 'text/event-stream',
    answerHeaders: runHeaders,
    others: failedRun,
  },
  [`POST ${user}/ag-ui`]: {
    summary: 'runs as an agent of AG-UI; the events of that protocol as a stream',
    headers: runRequestHeaders,
    body: RunAgentInputSchema,
    answer: 'text/event-stream',
    answerHeaders: runHeaders,
    others: failedRun,
  },
  ...meshOperations,
  ...devOperations,
};

/** Gives each route its operation. @throws Error for a route without one, and for one without a route */
export function withOperations(entrances: readonly Entrance[]): Route[] {
  const nameOf = ({ method, url }: Entrance) => `${method} ${url}`;
  const names = entrances.map(nameOf);
  const unused = Object.keys(operations).filter((name) => !names.includes(name));
  if (unused.length > 0) throw new Error(`operations.ts describes no route: ${unused.join(', ')}`);
  return entrances.map((entrance) => {
    const about = operations[nameOf(entrance)];
    if (!about) throw new Error(`describe ${nameOf(entrance)} in operations.ts`);
    return { ...entrance, about };
  });
}
