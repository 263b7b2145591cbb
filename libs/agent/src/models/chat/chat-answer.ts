import { MeshError } from '@agentmesh/protocol';
import type { Part, FinishReason as Reason } from '@google/genai';
import type { LlmResponse } from '../../base/base-llm.ts';
import { FinishReason } from '../../schema/genai.ts';
import { asAnswer } from '../answers/answer.ts';
import { problemOfArgs, readArgs } from '../answers/call-arguments.ts';
import { isRecord } from '../http/error-body.ts';
import { callMetadata, ReasoningParts } from './reasoning.ts';

interface ChatCall {
  id: string;
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
 */
export class ChatAnswer {
  readonly #calls: ChatCall[] = [];
  readonly #reasoning = new ReasoningParts();
  #text = '';
  #refusal = '';
  #reason = '';
  #problem: string | undefined;
  #usage: Fields | undefined;
  #model: string | undefined;

  /** Tells whether the server has ended the answer. */
  get hasEnded(): boolean {
    return this.#reason !== '';
  }

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
    const [choice] = listOf(choices);
    if (typeof choice?.finish_reason === 'string') this.#reason = choice.finish_reason || this.#reason;
    if (isRecord(choice?.error)) this.#problem = String(choice.error.message ?? '') || undefined;
    const message = fieldsOf(choice?.delta ?? choice?.message);
    const text = textIn(message.content ?? choice?.text);
    this.#text += text;
    if (typeof message.refusal === 'string') this.#refusal += message.refusal;
    for (const call of listOf(message.tool_calls)) this.#addCall(call);
    // The form before tools.
    if (isRecord(message.function_call)) this.#addCall({ index: 0, function: message.function_call });
    return { text, thought: this.#reasoning.add(message) };
  }

  /**
   * Adds a call, or a piece of one. A piece without an id or a name belongs to the call at its index, or else to
   * the last call. Some servers number each call 0, or none.
   */
  #addCall(piece: Fields): void {
    const fields = fieldsOf(piece.function);
    const id = typeof piece.id === 'string' ? piece.id : '';
    const index = typeof piece.index === 'number' ? piece.index : undefined;
    const name = typeof fields.name === 'string' ? fields.name : '';
    const args = argsText(fields.arguments);
    const extra = isRecord(piece.extra_content) ? piece.extra_content : undefined;
    const call = { id, index, name, args, extra };
    const open = this.#callFor(call);
    if (!open) this.#calls.push(call);
    else {
      open.id ||= id;
      open.name ||= name;
      open.args += args;
      open.extra ??= extra;
    }
  }

  #callFor({ id, index, name, args }: ChatCall): ChatCall | undefined {
    const isAt = (call: ChatCall) => index === undefined || call.index === undefined || call.index === index;
    const known = this.#calls.findLast((call) => id !== '' && call.id === id && isAt(call));
    const call = known ?? this.#calls.findLast(isAt);
    if (!call || name === '' || call.name === '') return call;
    // A name begins a call, except when a server repeats the name in each piece.
    const isOther = call.name !== name || (id !== '' && call.id !== '' && call.id !== id);
    return isOther || (args !== '' && isWhole(call)) ? undefined : call;
  }

  /** Returns the whole answer: one response to commit. */
  response(): LlmResponse {
    const finishReason = this.#finishReason();
    const usageMetadata = this.#usage && usageOf(this.#usage);
    const common: LlmResponse = {
      ...this.version,
      finishReason,
      ...(usageMetadata && { usageMetadata }),
    };
    const parts: Part[] = [...this.#reasoning.parts(), ...(this.#text ? [{ text: this.#text }] : [])];
    // A refusal is no answer in the form that was asked for.
    if (this.#refusal !== '' && this.#calls.length === 0) {
      const errorCode = FinishReason.SAFETY;
      return { ...common, finishReason: errorCode, errorCode, errorMessage: this.#refusal.toWellFormed() };
    }
    const calls = this.#calls.map(
      ({ id, name, args, extra }): Part => ({
        functionCall: { ...(id && { id }), name, args: readArgs(args || '{}') },
        ...(extra && callMetadata(extra)),
      }),
    );
    const isAnnounced = finishReason === FinishReason.STOP && /tool|function/i.test(this.#reason);
    const words = isAnnounced ? 'the model announced calls and sent none' : undefined;
    return asAnswer({ ...common, content: { role: 'model', parts: [...parts, ...calls] } }, words);
  }

  /** @throws MeshError `unavailable` when the server has broken off */
  #finishReason(): Reason {
    const word = this.#reason.toLowerCase().replaceAll('-', '_');
    if (brokenOff.includes(word)) {
      const why = this.#problem ?? this.#reason;
      throw new MeshError('unavailable', `the model has ended its answer in the middle: ${why}`);
    }
    const known = Object.entries(reasons).find(([, words]) => words.includes(word));
    if (known) return known[0] as Reason;
    // A proxy of Gemini passes Gemini's reasons on.
    if (/^[A-Z]+_[A-Z_]+$/.test(this.#reason)) return this.#reason as Reason;
    return FinishReason.FINISH_REASON_UNSPECIFIED;
  }
}

/** The words of servers for a finish reason. */
const reasons: Partial<Record<Reason, readonly string[]>> = {
  STOP: ['stop', 'tool_calls', 'tool_use', 'function_call', 'end_turn', 'stop_sequence'],
  MAX_TOKENS: ['length', 'max_tokens', 'model_length'],
  SAFETY: ['content_filter', 'content_filtered', 'safety', 'sensitive', 'refusal'],
};

/** Reasons by which servers report that they broke off. */
const brokenOff: readonly string[] = [
  ...['error', 'abort', 'aborted', 'cancelled', 'network_error', 'insufficient_system_resource'],
];

function isWhole({ args }: ChatCall): boolean {
  return args !== '' && problemOfArgs(readArgs(args)) === undefined;
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

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
