import { z } from 'zod';
import type { Operation } from '../../context/operation.ts';
import { drawing } from '../../contract/answers.ts';
import { graphImageQuery, graphQuery } from './build-graph.ts';
import { builderQuery } from './not-offered.ts';
import { traceQuery } from './trace.ts';

const dev = '/dev/apps/:app';
const object = z.looseObject({});
const emptyList: Operation = { summary: 'an empty list', answer: z.union([z.array(z.unknown()), object]) };
const refused: Operation = { summary: '501: not offered', others: { 501: 'not offered' } };
const sessionSpans = z.array(object);

/** Returns the operations of the routes below a folder of things that a mesh does not have. */
function absentBelow(folder: string, what: string): Record<string, Operation> {
  return {
    [`GET ${folder}/*`]: { summary: `404: there are no ${what}` },
    [`POST ${folder}/*`]: refused,
    [`PUT ${folder}/*`]: refused,
    [`DELETE ${folder}/*`]: refused,
  };
}

/** The requests and the answers of the routes for developers. */
export const devOperations: Readonly<Record<string, Operation>> = {
  [`GET ${dev}/build_graph`]: {
    summary: 'the agents and tools of an app as a tree',
    answer: z.looseObject({ name: z.string(), root_agent: object }),
  },
  [`GET ${dev}/build_graph_image`]: {
    summary: 'a drawing of this tree below `node`, in the language of Graphviz',
    query: graphImageQuery,
    answer: object,
  },
  [`GET ${dev}/graph`]: { summary: 'the drawing of the whole app', query: graphQuery, answer: drawing },
  [`GET ${dev}/debug/trace/session/:session`]: {
    summary:
      'the spans of a session, made from its last 1,000 events; the query has what the path does not name',
    query: traceQuery,
    answer: sessionSpans,
  },
  [`GET ${dev}/debug/trace/*`]: {
    summary: 'the attributes of the model call or tool call that ended with an event',
    query: traceQuery,
    answer: object,
  },
  'GET /debug/trace/session/:session': {
    summary: 'the spans of a session, at the old address',
    query: traceQuery,
    answer: sessionSpans,
  },
  'GET /debug/trace/*': {
    summary: 'the attributes of a call, at the old address',
    query: traceQuery,
    answer: object,
  },
  [`GET ${dev}/eval_sets`]: emptyList,
  ...absentBelow(`${dev}/eval_sets`, 'evaluations'),
  [`GET ${dev}/eval-sets`]: emptyList,
  [`POST ${dev}/eval-sets`]: refused,
  ...absentBelow(`${dev}/eval-sets`, 'evaluations'),
  [`GET ${dev}/eval_results`]: emptyList,
  [`GET ${dev}/eval_results/*`]: { summary: '404: there are no results' },
  [`GET ${dev}/eval-results`]: emptyList,
  [`GET ${dev}/eval-results/*`]: { summary: '404: there are no results' },
  [`GET ${dev}/metrics-info`]: emptyList,
  'GET /apps/:app/eval_sets': emptyList,
  ...absentBelow('/apps/:app/eval_sets', 'evaluations'),
  'GET /apps/:app/eval_results': emptyList,
  'GET /apps/:app/eval_results/*': { summary: '404: there are no results' },
  'GET /apps/:app/eval_metrics': emptyList,
  [`GET ${dev}/tests`]: emptyList,
  ...absentBelow(`${dev}/tests`, 'tests'),
  [`GET ${dev}/builder`]: { summary: 'an empty file', query: builderQuery, answer: 'text/plain' },
  [`POST ${dev}/builder/save`]: { ...refused, body: 'bytes', isBodyOptional: true },
  [`POST ${dev}/builder/cancel`]: refused,
  'GET /config/telemetry': {
    summary: '`{ "telemetry": false }`: nothing is sent to anybody',
    answer: z.looseObject({ telemetry: z.boolean() }),
  },
  'POST /config/telemetry': refused,
  'GET /run_live': refused,
  'POST /api/reasoning_engine': refused,
};
