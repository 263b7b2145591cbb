import type { Entrance, Route } from '../../context/route.ts';
import { appGraph, buildGraph, buildGraphImage } from './build-graph.ts';
import { absent, builderFile, empty, notOffered, telemetryConsent } from './not-offered.ts';
import { eventTrace, sessionTrace } from './trace.ts';

/** A route without its role: all of these are for users. */
type Address = Omit<Entrance, 'role'>;

const dev = '/dev/apps/:app';

const noEvals = notOffered('agentmesh runs no evaluations; test agents with scripts in the place of models');
const noTests = notOffered(
  'agentmesh keeps no tests of apps; write them as programs, with scripts in the place of models',
);
const noBuilder = notOffered('agents of a mesh are programs: change their files, not the server');
const noLive = notOffered('agentmesh has no live sessions of audio and video; use POST /run_sse');
const noEngine = notOffered("this is no Agent Engine of Vertex AI; use POST /run, with the session's ids");
const noTelemetry = notOffered('agentmesh sends no data about its use, so there is nothing to switch on');

/** Returns the routes below a folder of things that a mesh does not have. */
function absentBelow(folder: string, kind: string, refuse: Route['handle']): Address[] {
  return [
    { method: 'GET', url: `${folder}/*`, handle: absent(kind) },
    { method: 'POST', url: `${folder}/*`, handle: refuse },
    { method: 'PUT', url: `${folder}/*`, handle: refuse },
    { method: 'DELETE', url: `${folder}/*`, handle: refuse },
  ];
}

/**
 * The addresses of ADK's servers for developers: graphs and traces, and honest answers in the place of
 * evaluations, tests and the builder.
 */
const addresses: Address[] = [
  { method: 'GET', url: `${dev}/build_graph`, handle: buildGraph },
  { method: 'GET', url: `${dev}/build_graph_image`, handle: buildGraphImage },
  { method: 'GET', url: `${dev}/graph`, handle: appGraph },
  { method: 'GET', url: `${dev}/debug/trace/session/:session`, handle: sessionTrace },
  { method: 'GET', url: `${dev}/debug/trace/*`, handle: eventTrace },
  { method: 'GET', url: '/debug/trace/session/:session', handle: sessionTrace },
  { method: 'GET', url: '/debug/trace/*', handle: eventTrace },
  { method: 'GET', url: `${dev}/eval_sets`, handle: empty([]) },
  ...absentBelow(`${dev}/eval_sets`, 'evaluation', noEvals),
  { method: 'GET', url: `${dev}/eval-sets`, handle: empty({ evalSetIds: [] }) },
  { method: 'POST', url: `${dev}/eval-sets`, handle: noEvals },
  ...absentBelow(`${dev}/eval-sets`, 'evaluation', noEvals),
  { method: 'GET', url: `${dev}/eval_results`, handle: empty([]) },
  { method: 'GET', url: `${dev}/eval_results/*`, handle: absent('result of an evaluation') },
  { method: 'GET', url: `${dev}/eval-results`, handle: empty({ evalResultIds: [] }) },
  { method: 'GET', url: `${dev}/eval-results/*`, handle: absent('result of an evaluation') },
  { method: 'GET', url: `${dev}/metrics-info`, handle: empty({ metricsInfo: [] }) },
  { method: 'GET', url: '/apps/:app/eval_sets', handle: empty([]) },
  ...absentBelow('/apps/:app/eval_sets', 'evaluation', noEvals),
  { method: 'GET', url: '/apps/:app/eval_results', handle: empty([]) },
  { method: 'GET', url: '/apps/:app/eval_results/*', handle: absent('result of an evaluation') },
  { method: 'GET', url: '/apps/:app/eval_metrics', handle: empty([]) },
  { method: 'GET', url: `${dev}/tests`, handle: empty([]) },
  ...absentBelow(`${dev}/tests`, 'test', noTests),
  { method: 'GET', url: `${dev}/builder`, handle: builderFile },
  // The builder sends forms, which only routes for bytes take.
  { method: 'POST', url: `${dev}/builder/save`, handle: noBuilder, takesBytes: true },
  { method: 'POST', url: `${dev}/builder/cancel`, handle: noBuilder },
  { method: 'GET', url: '/config/telemetry', handle: telemetryConsent },
  { method: 'POST', url: '/config/telemetry', handle: noTelemetry },
  { method: 'GET', url: '/run_live', handle: noLive },
  { method: 'POST', url: '/api/reasoning_engine', handle: noEngine },
];

/** The routes for developers. A trace checks by itself whether the caller may read its session. */
export const devRoutes: Entrance[] = addresses.map((address) => ({ ...address, role: 'user' }));
