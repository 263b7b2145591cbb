import type {
  Content,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  Part,
  Schema,
} from '@google/genai';
import type OpenAI from 'openai';

type Message = OpenAI.ChatCompletionMessageParam;

/**
 * Converts a conversation to messages of the chat completions interface. Calls get ids by their position, and
 * responses repeat them.
 */
export function toMessages(contents: readonly Content[], system: string | undefined): Message[] {
  const messages: Message[] = system ? [{ role: 'system', content: system }] : [];
  let calls: { id: string; name: string | undefined }[] = [];
  let callCount = 0;
  for (const { role, parts = [] } of contents) {
    const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
    if (responses.length > 0) {
      messages.push(...responses.map((response) => toolMessage(response, takeId(calls, response))));
    }
    const text = textOf(parts);
    if (role !== 'model') {
      if (text) messages.push({ role: 'user', content: text });
      continue;
    }
    const functionCalls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    calls = functionCalls.map(({ id, name }) => {
      callCount += 1;
      return { id: id ?? `call_${callCount}`, name };
    });
    messages.push(assistantMessage(text, functionCalls, calls));
  }
  return messages;
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text, thought }) => (thought ? '' : (text ?? ''))).join('');
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

function toolMessage({ response = {} }: FunctionResponse, id: string): Message {
  return { role: 'tool', tool_call_id: id, content: JSON.stringify(response) };
}

function assistantMessage(
  text: string,
  calls: readonly FunctionCall[],
  ids: readonly { id: string }[],
): Message {
  if (calls.length === 0) return { role: 'assistant', content: text };
  return {
    role: 'assistant',
    content: text || null,
    tool_calls: calls.map(({ name = '', args = {} }, index) => ({
      id: ids[index]?.id ?? '',
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    })),
  };
}

/** Converts declarations to tools, with schemas in JSON Schema's spelling. */
export function toTools(declarations: readonly FunctionDeclaration[]): OpenAI.ChatCompletionTool[] {
  return declarations.map(({ name = '', description, parameters, parametersJsonSchema }) => ({
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters:
        (parametersJsonSchema as Record<string, unknown> | undefined) ?? toJsonSchema(parameters ?? {}),
    },
  }));
}

/**
 * Converts OpenAPI's spelling of schemas to JSON Schema's: lower-case types, `nullable` as a type, numbers
 * for lengths.
 */
export function toJsonSchema(schema: Schema): Record<string, unknown> {
  const { type, nullable, items, properties, anyOf, minLength, maxLength, minItems, maxItems, ...others } =
    schema;
  const name = type?.toLowerCase();
  return {
    ...others,
    ...(name !== undefined && { type: nullable ? [name, 'null'] : name }),
    ...(items && { items: toJsonSchema(items) }),
    ...(anyOf && { anyOf: anyOf.map(toJsonSchema) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, value]) => [key, toJsonSchema(value)]),
      ),
    }),
    ...numbers({ minLength, maxLength, minItems, maxItems }),
  };
}

function numbers(limits: Record<string, string | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([key, value]) => (value === undefined ? [] : [[key, Number(value)]])),
  );
}
