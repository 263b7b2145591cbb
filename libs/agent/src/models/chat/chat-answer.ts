import { digestOf, MeshError } from '@agentmesh/protocol';
import type { Part, FinishReason as Reason } from '@google/genai';
import type { LlmResponse } from '../../base/base-llm.ts';
import { FinishReason } from '../../schema/genai.ts';
import { asAnswer, worstReason } from '../answers/answer.ts';
import { AnswerEnd } from '../answers/answer-end.ts';
import { problemOfArgs, readArgs } from '../answers/call-arguments.ts';
import { recordsIn } from '../answers/read-response.ts';
import { isErrorBody, isRecord, readErrorBody } from '../http/error-body.ts';
import { callMetadata, ReasoningParts } from './reasoning.ts';

interface ChatCall {
  id: string;
  /** The number of the choice that holds the call. */
  choice: number;
  index: number | undefined;
  name: string;
  args: string;
  /** The fields that the server wants back with the call: Gemini's signatures behind OpenAI's interface. */
  extra: Fields | undefined;
}

type Fields = Record<string, unknown>;

/**
 * One answer of a chat completions server, collected from a whole completion or from the chunks of a stream. Reads
 * what servers really send: https://platform.openai.com/docs/api-reference/chat is the rule, and few keep all of it.
 * One choice was asked for, so several choices are parts of one answer.
 */
export class ChatAnswer {
  readonly end = new AnswerEnd();
  readonly #calls: ChatCall[] = [];
  readonly #reasoning = new ReasoningParts();
  #text = '';
  #refusal = '';
  #reason: Reason | undefined;
  /** The server's own words for the reason. */
  #words = '';
  #announcesCalls = false;
  #usage: Fields | undefined;
  #model: string | undefined;

  /** The model's name, as the server gives it. */
  get version(): Pick<LlmResponse, 'modelVersion'> {
    return this.#model === undefined ? {} : { modelVersion: this.#model };
  }

  get isEmpty(): boolean {
    return this.#text === '' && this.#calls.length === 0 && this.#reasoning.parts().length === 0;
  }

  /** Adds a completion, or a chunk of one. Returns its text, and its thoughts. */
  add(body: unknown): { text: string; thought: string } {
    const { choices, model, usage } = fieldsOf(body);
    if (typeof model === 'string' && model !== '') this.#model = model;
    if (isRecord(usage)) this.#usage = usage;
    const pieces = recordsIn(choices).map((choice, at) => this.#addChoice(choice, at));
    return {
      text: pieces.map(({ text }) => text).join(''),
      thought: pieces.map(({ thought }) => thought).join(''),
    };
  }

  #addChoice(choice: Fields, at: number): { text: string; thought: string } {
    const { finish_reason: reason, error } = choice;
    const isFailed = isErrorBody({ error });
    if (isFailed) this.#addReason('error', readErrorBody(JSON.stringify({ error }))?.message);
    if (typeof reason === 'string' && reason !== '') this.#addReason(reason);
    const message = fieldsOf(choice.delta ?? choice.message);
    const text = textIn(message.content ?? choice.text);
    this.#text += text;
    if (typeof message.refusal === 'string') this.#refusal += message.refusal;
    // The second is the form before tools.
    const legacy = isRecord(message.function_call) ? [{ index: 0, function: message.function_call }] : [];
    const calls = [...recordsIn(message.tool_calls), ...legacy];
    for (const call of calls) this.#addCall(call, numberOf(choice.index) ?? at);
    const thought = this.#reasoning.add(message);
    const hasReason = Boolean(reason) && this.#reason !== undefined;
    this.end.note(isFailed || hasReason, text + thought !== '' || calls.length > 0);
    return { text, thought };
  }

  #addReason(word: string, words = word): void {
    const reason = reasonOf(word);
    this.#announcesCalls ||= reason === FinishReason.STOP && /tool|function/i.test(word);
    if (worstReason(this.#reason, reason) === this.#reason) return;
    this.#reason = reason;
    this.#words = words;
  }

  /**
   * Adds a call, or a piece of one. A piece without an id or a name belongs to the call at its index, or else to
   * the last call. Some servers number each call 0, or none.
   */
  #addCall(piece: Fields, choice: number): void {
    const fields = fieldsOf(piece.function);
    const id = typeof piece.id === 'string' ? piece.id : '';
    const index = numberOf(piece.index);
    const name = typeof fields.name === 'string' ? fields.name : '';
    const args = argsText(fields.arguments);
    const extra = isRecord(piece.extra_content) ? piece.extra_content : undefined;
    const call = { id, choice, index, name, args, extra };
    const open = this.#callFor(call);
    if (!open) this.#calls.push(call);
    else {
      open.id ||= id;
      open.name ||= name;
      open.args = joinedArgs(open.args, args);
      open.extra ??= extra;
    }
  }

  #callFor({ id, choice, index, name, args }: ChatCall): ChatCall | undefined {
    const isAt = (call: ChatCall) =>
      call.choice === choice && (index === undefined || call.index === undefined || call.index === index);
    const known = this.#calls.findLast((call) => id !== '' && call.id === id && isAt(call));
    const call = known ?? this.#calls.findLast(isAt);
    if (!call || name === '' || call.name === '') return call;
    // A name begins a call, except when a server repeats the name in each piece.
    const isOther = call.name !== name || (id !== '' && call.id !== '' && call.id !== id);
    const isSame = known !== undefined || (id === '' && call.id !== '' && index !== undefined);
    return isOther || (!isSame && args !== '' && isWhole(call.args)) ? undefined : call;
  }

  /**
   * Returns the whole answer: one response to commit.
   *
   * @throws MeshError `unavailable` when the server has broken off
   */
  response(): LlmResponse {
    if (this.#reason === brokenOff)
      throw new MeshError('unavailable', `the model has ended its answer in the middle: ${this.#words}`);
    const usageMetadata = this.#usage && usageOf(this.#usage);
    const common: LlmResponse = {
      ...this.version,
      finishReason: this.#reason ?? FinishReason.FINISH_REASON_UNSPECIFIED,
      ...(usageMetadata && { usageMetadata }),
    };
    const parts: Part[] = [...this.#reasoning.parts(), ...(this.#text ? [{ text: this.#text }] : [])];
    const calls = this.#calls.map(
      ({ id, name, args, extra }): Part => ({
        functionCall: { ...(id && { id }), name, args: readArgs(args || '{}') },
        ...(extra && callMetadata(extra)),
      }),
    );
    return asAnswer({
      ...common,
      ...this.#failure(),
      content: { role: 'model', parts: [...parts, ...calls] },
    });
  }

  /** Returns the failure of an answer without calls that came to its end. */
  #failure(): Pick<LlmResponse, 'finishReason' | 'errorCode' | 'errorMessage'> {
    if (this.#calls.length > 0) return {};
    // A refusal is no answer in the form that was asked for.
    if (this.#refusal !== '')
      return {
        finishReason: FinishReason.SAFETY,
        errorCode: FinishReason.SAFETY,
        errorMessage: this.#refusal,
      };
    if (!this.#announcesCalls || this.#reason !== FinishReason.STOP) return {};
    const errorCode = this.#text === '' ? 'EMPTY_RESPONSE' : 'MALFORMED_FUNCTION_CALL';
    return { errorCode, errorMessage: 'the model announced calls and sent none' };
  }
}

/** Stands for the reasons by which servers report that they broke off. */
const brokenOff = 'BROKEN_OFF' as Reason;

/** The words of servers for a finish reason. */
const reasons: Record<string, readonly string[]> = {
  STOP: [
    ...['stop', 'tool_calls', 'tool_call', 'tool_use', 'function_call', 'end_turn', 'stop_sequence'],
    ...['eos', 'eos_token', 'complete', 'completed'],
  ],
  MAX_TOKENS: [
    ...['length', 'max_tokens', 'model_length', 'max_output_tokens', 'model_context_window_exceeded'],
  ],
  SAFETY: ['content_filter', 'content_filtered', 'safety', 'sensitive', 'refusal'],
  [brokenOff]: [
    ...['error', 'abort', 'aborted', 'cancelled', 'network_error', 'insufficient_system_resource'],
    ...['timeout', 'server_error', 'failed', 'incomplete'],
  ],
};

/** A reason that is not known, such as one of Gemini behind a proxy, is a failure with its own name. */
function reasonOf(word: string): Reason {
  const plain = word.toLowerCase().replaceAll('-', '_');
  const known = Object.entries(reasons).find(([, words]) => words.includes(plain));
  return (known?.[0] ?? plain.toUpperCase()) as Reason;
}

/**
 * Joins the arguments of a call with a further piece. Some servers send `{}` before the arguments, or whole arguments
 * again. Other arguments for the same call make a text that is not JSON: nobody knows which of them the model meant.
 */
function joinedArgs(args: string, piece: string): string {
  // Only such a piece can begin anew, and to read all arguments for each piece takes long.
  if (!/^\s*["{n]/.test(piece) || !isWhole(args)) return args + piece;
  const [known, given] = [readArgs(args), readArgs(piece)];
  if (Object.keys(known).length === 0) return piece;
  const says = Object.keys(given).length > 0 && digestOf(given) !== digestOf(known);
  return says ? args + piece : args;
}

function isWhole(args: string): boolean {
  return args !== '' && problemOfArgs(readArgs(args)) === undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && !Number.isNaN(number) ? number : undefined;
}

/** Returns the text of a content: a text, a part, or a list of them. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textIn).join('');
  if (!isRecord(content) || content.type === 'thinking') return '';
  return textIn(content.text ?? content.value);
}

function argsText(args: unknown): string {
  if (args === undefined || args === null) return '';
  return typeof args === 'string' ? args : JSON.stringify(args);
}

function usageOf(usage: Fields): NonNullable<LlmResponse['usageMetadata']> {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : undefined);
  const [prompt, completion] = [count('prompt_tokens'), count('completion_tokens')];
  const total = count('total_tokens') ?? (prompt ?? 0) + (completion ?? 0);
  return {
    ...(prompt !== undefined && { promptTokenCount: prompt }),
    ...(completion !== undefined && { candidatesTokenCount: completion }),
    totalTokenCount: total,
  };
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}
