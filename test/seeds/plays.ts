import {
  latestFunctionResponses,
  latestUserText,
  type ModelReply,
  type ModelRequest,
} from '@agentmesh/testing';
import type { Play } from './run-program.ts';

/** The behaviour of a model in each of the six programs: it calls the expected tool, then answers. */
export const plays: readonly Play[] = [
  {
    tool: 'get_weather_report',
    script(request) {
      const [result] = latestFunctionResponses(request);
      if (!result) return call('get_weather_report', { city: 'London' });
      if (result.name === 'get_weather_report')
        return call('analyze_sentiment', { text: result.response?.report });
      return { text: `It is cloudy in London: ${result.response?.sentiment}.` };
    },
    results: ['get_weather_report', 'analyze_sentiment'],
    output: /cloudy in London: negative\./,
  },
  {
    tool: 'getStockPrice',
    script(request) {
      const [result] = latestFunctionResponses(request);
      return result
        ? { text: `GOOG is at ${result.response?.price}.` }
        : call('getStockPrice', { ticker: 'GOOG' });
    },
    results: ['getStockPrice'],
    output: /GOOG is at \$\d+\.\d\d\./,
  },
  {
    tool: 'ask_for_approval',
    script: reimburse,
    results: ['reimburse', 'ask_for_approval', 'reimburse'],
    output: /reimbursed: ok.*waiting: approval-ticket-1.*reimbursed: ok/s,
  },
  {
    tool: 'summary_agent',
    script: (request) =>
      isFor(request, 'summary_agent')
        ? call('summary_agent', { request: latestUserText(request) })
        : { text: `${latestUserText(request).split(/\s+/).slice(0, 2).join(' ')}, in short.` },
    // The result of the agent's tool is the final answer: the user gets it, and no model does.
    results: [],
    output: /\w+ \w+, in short\./,
  },
  {
    tool: 'check_and_transfer',
    script(request) {
      if (!isFor(request, 'check_and_transfer')) return { text: 'The support agent speaks.' };
      const [result] = latestFunctionResponses(request);
      return result ? { text: 'No hurry.' } : call('check_and_transfer', { query: latestUserText(request) });
    },
    // After the urgent message the other agent answers.
    results: ['check_and_transfer'],
    output: /No hurry\..*The support agent speaks\./s,
  },
  {
    tool: 'calculator_add_numbers',
    script(request) {
      const [result] = latestFunctionResponses(request);
      return result
        ? { text: `It is ${result.response?.result}.` }
        : call('calculator_add_numbers', { a: 5, b: 3 });
    },
    results: ['calculator_add_numbers'],
    output: /It is 8\./,
  },
];

function reimburse(request: ModelRequest): ModelReply {
  const [result] = latestFunctionResponses(request);
  if (result?.name === 'reimburse') return { text: `reimbursed: ${result.response?.status}` };
  if (result) return { text: `waiting: ${result.response?.['ticket-id']}` };
  const said = latestUserText(request);
  if (said.includes('approved')) return call('reimburse', { purpose: 'meals', amount: 200 });
  const amount = Number(/\d+/.exec(said)?.[0]);
  return call(amount < 100 ? 'reimburse' : 'ask_for_approval', { purpose: 'meals', amount });
}

function call(name: string, args: Record<string, unknown>): ModelReply {
  return { calls: [{ name, args }] };
}

function isFor({ tools }: ModelRequest, tool: string): boolean {
  return tools.some(({ name }) => name === tool);
}
