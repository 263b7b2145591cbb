/** The ids of an event that a server has made, for requests about it. */
export interface Seen {
  eventId: string;
}

/** A request that both servers get, in the order of the list. */
export interface ContractRequest {
  name: string;
  method?: 'GET' | 'POST' | 'DELETE';
  path: string | ((seen: Seen) => string);
  body?: unknown;
}

const session = '/apps/desk_app/users/ann/sessions/s1';
const run = { appName: 'desk_app', userId: 'ann', sessionId: 's1' };
const message = (text: string) => ({ role: 'user', parts: [{ text }] });

export const requests: readonly ContractRequest[] = [
  { name: 'the address of the server', path: '/' },
  { name: 'health', path: '/health' },
  { name: 'the version', path: '/version' },
  { name: 'the apps', path: '/list-apps' },
  { name: 'the apps, with a slash at the end', path: '/list-apps/' },
  { name: 'a session with an id', method: 'POST', path: session, body: { state: { colour: 'red' } } },
  { name: 'a session that exists', method: 'POST', path: session, body: {} },
  { name: 'a session without an id', method: 'POST', path: '/apps/desk_app/users/ann/sessions', body: {} },
  { name: 'a session of an unknown app', method: 'POST', path: '/apps/no_app/users/ann/sessions', body: {} },
  { name: 'a run', method: 'POST', path: '/run', body: { ...run, newMessage: message('save report.txt') } },
  {
    ...{ name: 'a streamed run', method: 'POST', path: '/run_sse' },
    body: { ...run, newMessage: message('tell me a story'), streaming: true },
  },
  {
    ...{ name: 'a run that asks for a confirmation', method: 'POST', path: '/run' },
    body: { ...run, newMessage: message('order lunch') },
  },
  { name: 'a run without a message', method: 'POST', path: '/run', body: run },
  {
    ...{ name: 'a run of an unknown session', method: 'POST', path: '/run' },
    body: { ...run, sessionId: 'none', newMessage: message('hello') },
  },
  {
    ...{ name: 'a streamed run of an unknown session', method: 'POST', path: '/run_sse' },
    body: { ...run, sessionId: 'none', newMessage: message('hello') },
  },
  { name: 'the session', path: session },
  { name: 'an unknown session', path: '/apps/desk_app/users/ann/sessions/none' },
  { name: 'the sessions', path: '/apps/desk_app/users/ann/sessions' },
  { name: 'the artifacts', path: `${session}/artifacts` },
  { name: 'an artifact', path: `${session}/artifacts/report.txt` },
  { name: 'the versions of an artifact', path: `${session}/artifacts/report.txt/versions` },
  { name: 'a version of an artifact', path: `${session}/artifacts/report.txt/versions/0` },
  { name: 'an unknown artifact', path: `${session}/artifacts/none.txt` },
  { name: 'the graph of an event', path: ({ eventId }) => `${session}/events/${eventId}/graph` },
  { name: 'the graph of an unknown event', path: `${session}/events/none/graph` },
  { name: 'the tree of an app', path: '/dev/apps/desk_app/build_graph' },
  { name: 'the tree of an unknown app', path: '/dev/apps/no_app/build_graph' },
  { name: 'the drawing of an app', path: '/dev/apps/desk_app/build_graph_image?dark_mode=true' },
  { name: 'the drawing of an unknown agent', path: '/dev/apps/desk_app/build_graph_image?node=nobody' },
  { name: 'the spans of a session', path: '/dev/apps/desk_app/debug/trace/session/s1?user_id=ann' },
  {
    name: 'the span of an event',
    path: ({ eventId }) => `/dev/apps/desk_app/debug/trace/${eventId}?user_id=ann&session_id=s1`,
  },
  {
    name: 'the span of an unknown event',
    path: '/dev/apps/desk_app/debug/trace/none?user_id=ann&session_id=s1',
  },
  { name: 'the sets of evaluations', path: '/apps/desk_app/eval_sets' },
  { name: 'a new set of evaluations', method: 'POST', path: '/apps/desk_app/eval_sets/mine', body: {} },
  { name: 'an unknown set of evaluations', path: '/apps/desk_app/eval_sets/mine/evals' },
  { name: 'the results of evaluations', path: '/apps/desk_app/eval_results' },
  { name: 'the metrics of evaluations', path: '/apps/desk_app/eval_metrics' },
  {
    ...{ name: 'a query of Agent Engine', method: 'POST', path: '/api/reasoning_engine' },
    body: { input: { ...run, newMessage: message('hello') } },
  },
  { name: 'a wrong method', method: 'POST', path: '/list-apps', body: {} },
  { name: 'an unknown address', path: '/nowhere' },
  { name: 'a body that is not JSON', method: 'POST', path: '/run', body: '{' },
  { name: 'the deletion of an artifact', method: 'DELETE', path: `${session}/artifacts/report.txt` },
  { name: 'the deletion of a session', method: 'DELETE', path: session },
  { name: 'the deletion of an unknown session', method: 'DELETE', path: session },
];
