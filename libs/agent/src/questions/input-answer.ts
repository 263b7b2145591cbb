import { MeshError } from '@agentmesh/protocol';
import { type JsonSchema, misfitOf } from '../schema/answer-schema.ts';

/** A question for input. */
interface AskedInput {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/**
 * Returns the input of an answer to `requestInput`: the value of `result` when that is the only field
 * (`{result: "in May"}`), or else the whole object. With a schema it returns whichever of the two fits.
 *
 * @throws MeshError `invalid_argument` for an empty answer, and for an answer that does not fit the schema of
 * the question
 */
export function inputOf({ id, name, args }: AskedInput, response: unknown): unknown {
  const fields = typeof response === 'object' && response !== null ? Object.keys(response) : [];
  if (fields.length === 0) {
    throw new MeshError('invalid_argument', `the answer to ${name} ${id} needs a "result"`);
  }
  const isResult = fields.length === 1 && fields[0] === 'result';
  const result: unknown = isResult ? Reflect.get(response as object, 'result') : undefined;
  const schema = (args.responseSchema ?? args.response_schema) as JsonSchema | null | undefined;
  if (!schema) return isResult ? result : response;
  const values = isResult ? [result, response] : [response];
  const misfits = values.map((value) => misfitOf(schema, value));
  const fitting = misfits.indexOf(undefined);
  if (fitting !== -1) return values[fitting];
  throw new MeshError(
    'invalid_argument',
    `the answer to ${name} ${id} does not fit its responseSchema: ${misfits[0]}`,
  );
}
