import type { Content, FunctionDeclaration, FunctionResponse, Part, Schema } from '@google/genai';
import type OpenAI from 'openai';
import { withReadableFiles } from '../../artifacts/readable-files.ts';
import { getFunctionCalls } from '../../events/event.ts';
import { Type } from '../../schema/genai.ts';
import { isReadByChat, modelText, userPart } from './chat-content.ts';
import { extraOf, reasoningFields } from './reasoning.ts';

type Message = OpenAI.ChatCompletionMessageParam;

/**
 * Converts a conversation to messages of the chat completions interface. Calls get ids by their position, and
 * responses repeat them.
 */
export function toMessages(contents: readonly Content[], system: string | undefined): Message[] {
  const messages: Message[] = system ? [{ role: 'system', content: system }] : [];
  let calls: { id: string; name: string | undefined }[] = [];
  let callCount = 0;
  for (const { role, parts = [] } of withReadableFiles(contents, isReadByChat)) {
    const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
    if (responses.length > 0) {
      messages.push(...responses.map((response) => toolMessage(response, takeId(calls, response))));
    }
    if (role !== 'model') {
      messages.push(...userMessages(parts));
      continue;
    }
    calls = getFunctionCalls({ content: { parts } }).map(({ id, name }) => {
      callCount += 1;
      return { id: id ?? `call_${callCount}`, name };
    });
    messages.push(...assistantMessages(parts, calls));
  }
  return messages;
}

/** Returns a message of the user: as a text when it holds nothing else, which all servers take. */
function userMessages(parts: readonly Part[]): Message[] {
  const content = parts.flatMap(userPart);
  if (content.length === 0) return [];
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return [{ role: 'user', content: texts.length === content.length ? texts.join('') : content }];
}

/**
 * Returns the id of the call that a response answers: by its own id, or else the first open call of that
 * name.
 */
function takeId(open: { id: string; name: string | undefined }[], { id, name }: FunctionResponse): string {
  const index = open.findIndex((call) => (id !== undefined ? call.id === id : call.name === name));
  const [call] = index === -1 ? [] : open.splice(index, 1);
  return call?.id ?? id ?? 'unknown';
}

function toolMessage({ response = {}, parts }: FunctionResponse, id: string): Message {
  if (parts?.length) throw new Error('files in the response of a function');
  return { role: 'tool', tool_call_id: id, content: JSON.stringify(response) };
}

function assistantMessages(parts: readonly Part[], ids: readonly { id: string }[]): Message[] {
  const text = parts.map(modelText).join('');
  const toolCalls = parts
    .filter(({ functionCall }) => functionCall)
    .map((part, index) => ({
      id: ids[index]?.id ?? '',
      type: 'function' as const,
      function: {
        name: part.functionCall?.name ?? '',
        arguments: JSON.stringify(part.functionCall?.args ?? {}),
      },
      ...extraOf(part),
    }));
  if (toolCalls.length === 0 && text === '') return [];
  const fields = { ...reasoningFields(parts), ...(toolCalls.length > 0 && { tool_calls: toolCalls }) };
  return [{ role: 'assistant', content: text || null, ...fields }];
}

/** Converts declarations to tools, with schemas in JSON Schema's spelling. */
export function toTools(declarations: readonly FunctionDeclaration[]): OpenAI.ChatCompletionTool[] {
  return declarations.map(({ name = '', description, parameters, parametersJsonSchema }) => ({
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters:
        (parametersJsonSchema as Record<string, unknown> | undefined) ??
        toJsonSchema(parameters ?? { type: Type.OBJECT, properties: {} }),
    },
  }));
}

/**
 * Converts OpenAPI's spelling of schemas to JSON Schema's: lower-case types, `nullable` as a type, numbers
 * for lengths.
 */
export function toJsonSchema(schema: Schema): Record<string, unknown> {
  const { type, nullable, items, properties, anyOf, ...named } = schema;
  const { minLength, maxLength, minItems, maxItems, minProperties, maxProperties, ...known } = named;
  const { propertyOrdering: _order, ...others } = known;
  const name = type?.toLowerCase();
  const { enum: values, ...rest } = others;
  const alternatives = anyOf && [...anyOf.map(toJsonSchema), ...(nullable ? [{ type: 'null' }] : [])];
  return {
    ...rest,
    ...(values && { enum: nullable ? [...values, null] : values }),
    ...(name !== undefined && { type: nullable ? [name, 'null'] : name }),
    ...(items && { items: toJsonSchema(items) }),
    ...(alternatives && { anyOf: alternatives }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, value]) => [key, toJsonSchema(value)]),
      ),
    }),
    ...numbers({ minLength, maxLength, minItems, maxItems, minProperties, maxProperties }),
  };
}

function numbers(limits: Record<string, string | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([key, value]) => (value === undefined ? [] : [[key, Number(value)]])),
  );
}
