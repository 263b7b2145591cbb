import type { Event } from '@agentmesh/protocol';
import {
  chatDialects,
  chatStream,
  chatText,
  type Dialect,
  geminiDialects,
  geminiStream,
  geminiText,
  promptProblem,
  type RudeServer,
  startRudeServer,
  type WireAnswer,
  type WireRequest,
} from '@agentmesh/testing';
import { z } from 'zod';
import type { BaseLlm } from '../base/base-llm.ts';
import { getFunctionResponses, stringifyContent } from '../events/event.ts';
import { wellFormed } from '../events/well-formed.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { Gemini } from './gemini.ts';
import { OpenAiLlm } from './openai.ts';

/** A class of models, and the answers that its servers give. */
export interface ModelKind {
  name: string;
  dialects: readonly Dialect[];
  /** A clean stream of a text and a call, in pieces. */
  stream: readonly object[];
  /** A stream of a text with a finish reason in each piece. */
  withReasons: readonly object[];
  /** The end of a clean stream. */
  end: string;
  clean(words: string, isStream: boolean): WireAnswer;
  make(url: string): BaseLlm;
}

const halves = ['half an ', 'answer'];
const retryOptions = { attempts: 2, initialDelay: 0 };

export const modelKinds: readonly ModelKind[] = [
  {
    name: 'Gemini',
    dialects: geminiDialects,
    stream: geminiStream,
    withReasons: halves.map((text) => ({
      candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    })),
    end: '',
    clean: geminiText,
    make: (baseUrl) => new Gemini({ model: 'm', apiKey: 'k', baseUrl, retryOptions }),
  },
  {
    name: 'OpenAiLlm',
    dialects: chatDialects,
    stream: chatStream,
    withReasons: halves.map((content) => ({ choices: [{ delta: { content }, finish_reason: 'stop' }] })),
    end: 'data: [DONE]\n\n',
    clean: chatText,
    make: (url) => new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `${url}/v1`, retryOptions }),
  },
];

/** Answers a prompt as a strict server does: it refuses what real servers refuse. */
export function strictly(kind: ModelKind, request: WireRequest): WireAnswer {
  const problem = promptProblem(request);
  if (problem === undefined) return kind.clean('well', request.isStream);
  const body = JSON.stringify({ error: { code: 400, message: problem, status: 'INVALID_ARGUMENT' } });
  return { status: 400, headers: { 'content-type': 'application/json' }, body };
}

/** A server whose first answer is rude, and whose other answers are strict. */
export async function startFirstRude(
  kind: ModelKind,
  rude: (request: WireRequest) => WireAnswer,
): Promise<RudeServer> {
  return await startRudeServer((request) => (request.call === 1 ? rude(request) : strictly(kind, request)));
}

/** The outcome of two messages of a person to an agent with one tool. */
export interface Outcome {
  /** The committed events of the first message. */
  first: Event[];
  /** The last of them. */
  last: Event | undefined;
  /** The text that came in pieces before. */
  heard: string;
  /** The text of the last event of the first message, and of the second. */
  texts: (string | undefined)[];
  /** The first error. */
  failure: Event | undefined;
  /** The error in the second turn. */
  laterFailure: Event | undefined;
  /** The arguments with which the tool was called. */
  noted: Record<string, unknown>[];
  /** Errors that the model was told in the place of a result. */
  refusals: string[];
  /** The value of the agent's `outputKey` after the first message. */
  output: unknown;
  stored: Event[];
}

/** Sends two messages to an agent with a tool `note` and an `outputKey`. */
export async function talk(model: BaseLlm, isStream: boolean): Promise<Outcome> {
  const noted: Record<string, unknown>[] = [];
  const note = new FunctionTool({
    name: 'note',
    description: 'Notes a value.',
    parameters: z.looseObject({}),
    execute: (args) => {
      noted.push(args);
      return 'noted';
    },
  });
  const agent = new LlmAgent({ name: 'root', model, tools: [note], outputKey: 'answer' });
  const { say, stored } = await chat(agent, undefined, { onFailure: () => {} });
  const runConfig = { streamingMode: isStream ? 'sse' : 'none', maxLlmCalls: 20 } as const;
  const all = await say('go', runConfig);
  const first = all.filter(({ partial }) => !partial);
  const { state } = await stored();
  const second = (await say('and now?', runConfig)).filter(({ partial }) => !partial);
  const textOf = (event: Event | undefined) => event && stringifyContent(event);
  return {
    first,
    last: first.at(-1),
    heard: all.flatMap((event) => (event.partial ? stringifyContent(event) : [])).join(''),
    texts: [textOf(first.at(-1)), textOf(second.at(-1))],
    failure: first.find(({ errorCode }) => errorCode !== undefined),
    laterFailure: second.find(({ errorCode }) => errorCode !== undefined),
    noted,
    refusals: first.flatMap(getFunctionResponses).flatMap(({ response }) => {
      return typeof response?.error === 'string' ? [response.error] : [];
    }),
    output: state.answer,
    stored: (await stored()).events,
  };
}

/**
 * Returns the broken rules of a model, whatever its server answered: an end in words or an error with a code and
 * words; no output of an error; no call that is half; no text with half a character; a session that goes on.
 */
export function brokenRules(outcome: Outcome, requests: readonly WireRequest[]): string[] {
  const { last, texts, failure, laterFailure, noted, output, stored, refusals } = outcome;
  const rules: [boolean, string][] = [
    [last !== undefined, 'the turn ends with an event'],
    [Boolean(texts[0]?.trim()) || failure !== undefined, 'the turn ends in words or with an error'],
    [!failure || Boolean(failure.errorCode && failure.errorMessage?.trim()), 'an error has a code and words'],
    [
      !failure || (failure.content === undefined && output === undefined),
      'an error has no content and no output',
    ],
    [failure !== undefined || output === texts[0], 'the output is the answer'],
    [noted.every(({ end }) => end === true), `no call is half: ${JSON.stringify(noted)}`],
    [wellFormed(stored) === stored, 'all texts are well formed'],
    [laterFailure === undefined, `the session goes on: ${laterFailure?.errorMessage}`],
    [texts[1] === 'well', `the second turn has its answer: ${texts[1]}`],
    [
      requests.length <= 4 + (noted.length + refusals.length > 0 ? 1 : 0),
      `at most one call too many: ${requests.length}`,
    ],
  ];
  return rules.flatMap(([holds, rule]) => (holds ? [] : [rule]));
}
