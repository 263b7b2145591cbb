import type { Content, Part } from '@google/genai';

/**
 * The fields in which servers of the chat completions interface send thoughts. DeepSeek, Kimi and others refuse a
 * conversation whose calls came without the thoughts before them.
 *
 * https://api-docs.deepseek.com/guides/thinking_mode, https://openrouter.ai/docs/use-cases/reasoning-tokens
 */
const textFields = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;

/** The key of a part's metadata with what its server wants back. */
const metadataKey = 'agentmesh_chat';

interface Reasoning {
  /** The field that the thought came in. */
  field?: string;
  /** OpenRouter's details of the thought. */
  details?: unknown[];
  /** The field `extra_content` of a call. */
  extra?: Record<string, unknown>;
}

/** Returns the metadata of a call for what its server has sent beside it. */
export function callMetadata(extra: Record<string, unknown>): Pick<Part, 'partMetadata'> {
  return { partMetadata: { [metadataKey]: { extra } satisfies Reasoning } };
}

/** Returns the fields of a call that give back what came beside it. */
export function extraOf({ partMetadata }: Part): { extra_content?: Record<string, unknown> } {
  const { extra } = (partMetadata?.[metadataKey] as Reasoning | undefined) ?? {};
  return extra ? { extra_content: extra } : {};
}

/** Collects the thoughts of one answer. */
export class ReasoningParts {
  #text = '';
  #field: string | undefined;
  readonly #details: unknown[] = [];

  /** Adds a message, or a piece of one, and returns the thoughts in it. */
  add(message: Record<string, unknown>): string {
    // Some servers fill both fields with the same thought.
    const field = textFields.find((each) => typeof message[each] === 'string' && message[each] !== '');
    const text = field === undefined ? '' : String(message[field]);
    this.#field ??= field;
    this.#text += text;
    const { reasoning_details: details } = message;
    if (Array.isArray(details)) this.#details.push(...details);
    return text;
  }

  /** Returns the thought as a part; nothing without one. */
  parts(): Part[] {
    if (this.#text === '' && this.#details.length === 0) return [];
    const reasoning: Reasoning = {
      ...(this.#field !== undefined && { field: this.#field }),
      ...(this.#details.length > 0 && { details: this.#details }),
    };
    return [{ text: this.#text, thought: true, partMetadata: { [metadataKey]: reasoning } }];
  }
}

/** Returns the fields of a message that give the thoughts among its parts back as they came. */
export function reasoningFields(parts: readonly Part[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const { text = '', thought, partMetadata } of parts) {
    const reasoning = partMetadata?.[metadataKey] as Reasoning | undefined;
    if (!thought || !reasoning) continue;
    if (reasoning.field !== undefined) fields[reasoning.field] = `${fields[reasoning.field] ?? ''}${text}`;
    if (reasoning.details) fields.reasoning_details = reasoning.details;
  }
  return fields;
}

/** Returns contents for a model of another provider, which refuses our metadata. */
export function withoutReasoningFields(contents: readonly Content[]): readonly Content[] {
  const isOurs = ({ partMetadata }: Part) => partMetadata !== undefined && metadataKey in partMetadata;
  if (!contents.some(({ parts }) => parts?.some(isOurs))) return contents;
  return contents.map((content) => ({
    ...content,
    parts: (content.parts ?? []).map((part) => {
      if (!isOurs(part)) return part;
      const { partMetadata: _ours, ...rest } = part;
      return rest;
    }),
  }));
}
