/** A difference from ADK's API server (JS, 2.0.0) that is meant, or that we accept, with the reason. */
export interface KnownDifference {
  request: string;
  /** `status`, `type` (the content type), or a path in the body. */
  at: string;
  agentmesh: string;
  adk: string;
  reason: string;
}

const asPython = "as ADK's Python server";
const cardsOnly = 'the cards of agents do not hold it';
const logOnly = 'spans come from the log, which does not hold it';
const emptyList = 'there are none; the web UI asks for the list';

/** The differences that the test expects, no more and no fewer. */
export const knownDifferences: readonly KnownDifference[] = [
  ...[
    row('the address of the server', 'type', 'application/json', 'text/html', 'lists the routes'),
    row(
      'health',
      'type',
      'application/json',
      'text/html',
      `${asPython}; 503 with reasons when it cannot serve`,
    ),
    row('the version', 'body.language', 'string', 'absent', asPython),
    row('the version', 'body.languageVersion', 'string', 'absent', asPython),
    row('a session that exists', 'status', '409', '400', asPython),
    row('a session of an unknown app', 'status', '404', '200', 'a misspelled app must not be ignored'),
    row('a run without a message', 'status', '400', '200', 'ADK answers with no events'),
    row('the sessions', 'body', 'list', 'object', `${asPython}; the web UI expects the list`),
    row('the graph of an unknown event', 'status', '200', '404', asPython),
  ],
  ...[
    row('any event', 'customMetadata', 'object', 'absent', 'names the process that made the event'),
    row('any event', 'modelVersion', 'string', 'absent', "ADK for JS drops this part of the model's answer"),
    row('any event', 'partial', 'absent', 'boolean', 'ADK stores `false` at the end of a stream'),
    row('any error', 'body.code', 'string', 'absent', 'the code of [the error table](errors.md)'),
    row('any error', 'body.traceId', 'string', 'absent', 'finds the request in the logs'),
  ],
  ...[
    row('the tree of an app', 'body.root_agent.model', 'absent', 'string', cardsOnly),
    row('the tree of an app', 'body.root_agent.rerun_on_resume', 'absent', 'boolean', cardsOnly),
    row('any span', 'gen_ai.tool.description', 'absent', 'string', logOnly),
    row('any span', 'gen_ai.tool.type', 'absent', 'string', logOnly),
    row('any span', 'gen_ai.system', 'absent', 'string', logOnly),
    row('any span', 'gen_ai.agent.description', 'absent', 'string', logOnly),
    row('any span', 'gen_ai.conversation.id', 'string', 'absent', 'each span names its session'),
    row('any span', 'gen_ai.operation.name', 'string', 'absent', 'each span names its operation'),
  ],
  ...[
    row('the sets of evaluations', 'status', '200', '501', emptyList),
    row('an unknown set of evaluations', 'status', '404', '501', 'there are none'),
    row('the results of evaluations', 'status', '200', '501', emptyList),
    row('the metrics of evaluations', 'status', '200', '501', emptyList),
    row('a query of Agent Engine', 'status', '501', '200', 'a gateway is no Agent Engine of Vertex AI'),
  ],
  ...[
    row('a wrong method', 'status', '405', '404', `${asPython}, with the header \`Allow\``),
    row('an unknown address', 'type', 'application/json', 'text/html', 'every error is JSON'),
    row('a body that is not JSON', 'type', 'application/json', 'text/html', 'every error is JSON'),
    row(
      'the deletion of an artifact',
      'status',
      '200',
      '204',
      `${asPython}; its clients read the body \`null\``,
    ),
    row(
      'the deletion of a session',
      'status',
      '200',
      '204',
      `${asPython}; its clients read the body \`null\``,
    ),
    row('the deletion of an unknown session', 'status', '200', '404', asPython),
  ],
];

function row(request: string, at: string, agentmesh: string, adk: string, reason: string): KnownDifference {
  return { request, at, agentmesh, adk, reason };
}
