import { MeshError } from '@agentmesh/protocol';
import type { FunctionDeclaration, GenerateContentConfig } from '@google/genai';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import { parseExactly } from '../models/http/exact-json.ts';
import {
  describeMisfit,
  isZodObject,
  missingKeys,
  parseValue,
  type ToolParameters,
  toGenaiSchema,
} from '../schema/schema.ts';

export const setModelResponseName = 'set_model_response';

export const setModelResponseInstruction = `When you have the final answer, give it by calling ${setModelResponseName} alone, with all fields of its parameters; do not write it as text.`;

/** Returns the request settings that make a model without tools answer in the form of a schema. */
export function responseSchemaOf(schema: ToolParameters): GenerateContentConfig {
  return { responseSchema: toGenaiSchema(schema), responseMimeType: 'application/json' };
}

/**
 * Reads an answer that must fit a schema; it may be JSON in a code fence.
 *
 * @throws MeshError `invalid_argument` that says what does not fit
 */
export function parseOutput(schema: ToolParameters, text: string): unknown {
  const [, fenced] = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text) ?? [];
  let json: unknown;
  try {
    json = parseExactly(fenced ?? text);
  } catch (cause) {
    const why =
      cause instanceof SyntaxError
        ? 'the answer is not JSON, as its schema demands'
        : (cause as Error).message;
    throw new MeshError('invalid_argument', why, { cause });
  }
  return checkOutput(schema, json);
}

/**
 * Checks a value against a schema and returns its parsed form.
 *
 * @throws MeshError `invalid_argument` that says what does not fit
 */
export function checkOutput(schema: ToolParameters, value: unknown): unknown {
  if (isZodObject(schema)) {
    const result = parseValue(schema, value);
    if (result.success) return result.data;
    throw new MeshError(
      'invalid_argument',
      `the answer does not fit its schema: ${describeMisfit(value, result.error)}`,
    );
  }
  const missing = missingKeys(schema, value);
  if (missing.length === 0) return value;
  throw new MeshError(
    'invalid_argument',
    `the answer does not fit its schema: missing ${missing.map((key) => `"${key}"`).join(', ')}`,
  );
}

/**
 * The tool by which a model that has other tools answers in the form of a schema. A call that fits becomes
 * the answer and never runs; this class handles the calls that do not fit.
 */
export class SetModelResponseTool extends BaseTool {
  readonly #schema: ToolParameters;

  constructor(schema: ToolParameters) {
    super({ name: setModelResponseName, description: 'Gives the final answer.' });
    this.#schema = schema;
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parameters: toGenaiSchema(this.#schema),
    };
  }

  override async runAsync({ args }: RunToolRequest): Promise<unknown> {
    checkOutput(this.#schema, args);
    return { error: `call ${this.name} alone, when you have the results of all other calls` };
  }
}
