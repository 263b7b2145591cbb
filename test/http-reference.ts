import { routes } from '@agentmesh/gateway/routes';

/** The meaning of a route, and the fields of its query and body; `?` marks those that may be left out. */
interface Description {
  meaning: string;
  query?: string;
  body?: string;
}

const user = '/apps/:app/users/:user';
const session = `${user}/sessions/:session`;
const invocation = `${session}/invocations/:invocation`;
const artifact = `${session}/artifacts/:artifact`;
const dev = '/dev/apps/:app';
const traced = '`app_name?`, `user_id?`, `session_id?`: the parts that the path does not name';

/** Returns the descriptions of the routes below a folder of things that a mesh does not have. */
function absentBelow(folder: string, what: string): Record<string, Description> {
  const refused = { meaning: '501: not offered' };
  return {
    [`GET ${folder}/*`]: { meaning: `404: there are no ${what}` },
    [`POST ${folder}/*`]: refused,
    [`PUT ${folder}/*`]: refused,
    [`DELETE ${folder}/*`]: refused,
  };
}

const runBody =
  '`appName`, `userId`, `sessionId`, `newMessage` (a text or a Content), `streaming?`, `stateDelta?`, `invocationId?`, `runConfig?`, `whenBusy?` (`enqueue`, `reject`, `interrupt`)';

const descriptions: Record<string, Description> = {
  'GET /': { meaning: 'lists the routes' },
  'GET /health': { meaning: '200 when the gateway can serve, else 503' },
  'GET /version': { meaning: 'version and language' },
  'GET /list-apps': {
    meaning: 'names of the apps; with `detailed=true` also their root agents',
    query: '`detailed?`',
  },
  'GET /apps/:app/app-info': { meaning: 'an app with its agents and their tools' },
  [`GET ${user}/sessions`]: {
    meaning: 'sessions of a user, newest first; header `x-total-count`',
    query: '`limit?` (100), `offset?`',
  },
  [`POST ${user}/sessions`]: { meaning: 'makes a session', body: '`sessionId?`, `state?`, `events?`' },
  [`GET ${session}`]: {
    meaning: 'a session with its events',
    query: '`numRecentEvents?`, `afterTimestamp?`, `afterSeq?`',
  },
  [`POST ${session}`]: {
    meaning: 'makes a session with this id',
    body: '`state?`, `events?`; or the state itself',
  },
  [`PATCH ${session}`]: { meaning: 'changes the state of a session', body: '`stateDelta`' },
  [`DELETE ${session}`]: { meaning: 'deletes a session with all that belongs to it' },
  [`DELETE ${user}`]: { meaning: 'deletes all data of a user' },
  [`GET ${user}/export`]: { meaning: 'all data of a user, as lines of JSON' },
  [`PATCH ${user}/memory`]: { meaning: 'adds a session to the memory', body: '`sessionId`' },
  [`GET ${user}/memory`]: { meaning: 'searches or lists memories', query: '`query?`, `limit?`, `after?`' },
  [`DELETE ${user}/memory`]: { meaning: 'deletes memories', query: '`sessionId` or `all=true`' },
  [`POST ${session}/rewind`]: {
    meaning: 'takes a session back to its state before an invocation',
    body: '`rewindBeforeInvocationId`',
  },
  [`POST ${session}/fork`]: { meaning: 'copies a session', body: '`sessionId?`, `beforeInvocationId?`' },
  [`GET ${session}/artifacts`]: { meaning: 'names of the artifacts' },
  [`POST ${session}/artifacts`]: {
    meaning: 'saves an artifact as a new version',
    body: '`filename`, `artifact` (a Part), `customMetadata?`',
  },
  [`GET ${artifact}`]: { meaning: 'an artifact as a Part', query: '`version?`' },
  [`DELETE ${artifact}`]: { meaning: 'deletes an artifact with all versions' },
  [`GET ${artifact}/content`]: { meaning: 'the bytes of an artifact', query: '`version?`' },
  [`PUT ${artifact}/content`]: { meaning: 'saves the body as a new version', body: 'bytes of any type' },
  [`GET ${artifact}/versions`]: { meaning: 'numbers of the versions' },
  [`GET ${artifact}/versions/metadata`]: { meaning: 'facts about all versions' },
  [`GET ${artifact}/versions/:version`]: { meaning: 'a version as a Part' },
  [`GET ${artifact}/versions/:version/content`]: { meaning: 'the bytes of a version' },
  [`GET ${artifact}/versions/:version/metadata`]: { meaning: 'facts about a version' },
  [`GET ${session}/artifacts/*`]: { meaning: 'the same for names with `/` that are not encoded' },
  [`DELETE ${session}/artifacts/*`]: { meaning: 'the same for names with `/`' },
  [`PUT ${session}/artifacts/*`]: { meaning: 'the same for names with `/`', body: 'bytes of any type' },
  [`GET ${session}/pending`]: { meaning: 'calls of a session that wait for an answer' },
  [`GET ${user}/pending`]: { meaning: 'calls of all sessions of a user that wait for an answer' },
  [`GET ${session}/events`]: {
    meaning: 'a page of the log: events with their numbers',
    query: '`after?`, `limit?` (100)',
  },
  [`GET ${session}/events/*`]: { meaning: 'the graph of an event: `…/events/<event>/graph`' },
  [`GET /dev${session}/events/*`]: { meaning: "the same at the address of ADK's Python server" },
  [`GET ${invocation}`]: { meaning: 'the state of a run: `status`, `lastSeq`, `llmCalls`, `error`' },
  [`GET ${invocation}/events`]: {
    meaning:
      'the events of a run as a stream, also after it began ([resuming](coming-back.md)); 204 when none is left',
    query: '`after?`, `resume?`; header `Last-Event-ID`',
  },
  [`POST ${invocation}/cancel`]: { meaning: 'cancels a run; 202 with its state', body: '`reason?`' },
  'POST /run': { meaning: 'runs to the end; all events as a list', body: runBody },
  'POST /run_sse': {
    meaning: 'runs; each event as it happens (server-sent events)',
    query: '`stop_on_disconnect?`',
    body: 'as `/run`',
  },
  [`GET ${dev}/build_graph`]: { meaning: 'the agents and tools of an app as a tree' },
  [`GET ${dev}/build_graph_image`]: {
    meaning: 'a drawing of this tree, in the language of Graphviz',
    query: '`dark_mode?`, `node?`: the path of an agent',
  },
  [`GET ${dev}/graph`]: { meaning: 'the drawing of the whole app', query: '`dark_mode?`' },
  [`GET ${dev}/debug/trace/session/:session`]: {
    meaning: 'the spans of a session, made from its last 1,000 events',
    query: traced,
  },
  [`GET ${dev}/debug/trace/*`]: {
    meaning: 'the attributes of the model call or tool call that ended with an event',
    query: traced,
  },
  'GET /debug/trace/session/:session': { meaning: 'the same at the old address', query: traced },
  'GET /debug/trace/*': { meaning: 'the same at the old address', query: traced },
  [`GET ${dev}/eval_sets`]: { meaning: 'an empty list' },
  ...absentBelow(`${dev}/eval_sets`, 'evaluations'),
  [`GET ${dev}/eval-sets`]: { meaning: 'an empty list' },
  [`POST ${dev}/eval-sets`]: { meaning: '501: not offered' },
  ...absentBelow(`${dev}/eval-sets`, 'evaluations'),
  [`GET ${dev}/eval_results`]: { meaning: 'an empty list' },
  [`GET ${dev}/eval_results/*`]: { meaning: '404: there are no results' },
  [`GET ${dev}/eval-results`]: { meaning: 'an empty list' },
  [`GET ${dev}/eval-results/*`]: { meaning: '404: there are no results' },
  [`GET ${dev}/metrics-info`]: { meaning: 'an empty list' },
  'GET /apps/:app/eval_sets': { meaning: 'an empty list' },
  ...absentBelow('/apps/:app/eval_sets', 'evaluations'),
  'GET /apps/:app/eval_results': { meaning: 'an empty list' },
  'GET /apps/:app/eval_results/*': { meaning: '404: there are no results' },
  'GET /apps/:app/eval_metrics': { meaning: 'an empty list' },
  [`GET ${dev}/tests`]: { meaning: 'an empty list' },
  ...absentBelow(`${dev}/tests`, 'tests'),
  [`GET ${dev}/builder`]: { meaning: 'an empty file', query: 'not read' },
  [`POST ${dev}/builder/save`]: { meaning: '501: not offered' },
  [`POST ${dev}/builder/cancel`]: { meaning: '501: not offered' },
  'GET /config/telemetry': { meaning: '`{ "telemetry": false }`: nothing is sent to anybody' },
  'POST /config/telemetry': { meaning: '501: not offered' },
  'GET /run_live': { meaning: '501: not offered' },
  'POST /api/reasoning_engine': { meaning: '501: not offered' },
};

/** Returns the rows of the reference: a route each. @throws Error for a route without a description, and vice versa */
export function httpRows(): string[][] {
  const known = routes.map(({ method, url }) => `${method} ${url}`);
  const gone = Object.keys(descriptions).filter((route) => !known.includes(route));
  if (gone.length > 0)
    throw new Error(`test/http-reference.ts describes routes that do not exist: ${gone.join(', ')}`);
  return routes.map(({ method, url, role, others }) => {
    const route = `${method} ${url}`;
    const description = descriptions[route];
    if (!description) throw new Error(`describe ${route} in test/http-reference.ts`);
    const rights = others === undefined ? role : `${role}; ${others} for others`;
    return [`\`${route}\``, description.meaning, rights, description.query ?? '', description.body ?? ''];
  });
}
