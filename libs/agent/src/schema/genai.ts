import type * as genai from '@google/genai';

// `@google/genai` takes some 30 MiB and 100 ms of each process that loads it. Only a model that is asked needs it.

/** The client library of Gemini. */
export type GenAi = typeof genai;

/** Loads the client library of Gemini. */
export const loadGenAi = (): Promise<GenAi> => import('@google/genai');

type Values<E extends Record<string, string>, Name extends keyof E> = Readonly<Pick<E, Name>>;

/** Returns an enum of `@google/genai`, whose values are the names. */
function valuesOf<E extends Record<string, string>>() {
  return <Name extends keyof E & string>(...names: readonly Name[]): Values<E, Name> =>
    Object.fromEntries(names.map((name) => [name, name])) as unknown as Values<E, Name>;
}

export type Type = genai.Type;
export const Type = valuesOf<typeof genai.Type>()(
  ...(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'] as const),
);
export type FinishReason = genai.FinishReason;
export const FinishReason = valuesOf<typeof genai.FinishReason>()(
  ...(['STOP', 'MAX_TOKENS', 'SAFETY', 'FINISH_REASON_UNSPECIFIED'] as const),
);
export type Language = genai.Language;
export const Language = valuesOf<typeof genai.Language>()('PYTHON');
export type Outcome = genai.Outcome;
export const Outcome = valuesOf<typeof genai.Outcome>()(
  ...(['OUTCOME_OK', 'OUTCOME_FAILED', 'OUTCOME_DEADLINE_EXCEEDED'] as const),
);

/** Tells whether a server of Gemini answered with an error: an `ApiError`, also of another copy of the library. */
export function isApiError(error: unknown): error is genai.ApiError {
  return (
    error instanceof Error && error.name === 'ApiError' && typeof Reflect.get(error, 'status') === 'number'
  );
}
