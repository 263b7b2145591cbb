import type { Question } from '@agentmesh/client';
import { useState } from 'preact/hooks';
import { useAct } from './hooks.ts';
import { Failure, Field } from './parts.tsx';
import { SchemaForm } from './schema-form.tsx';
import { json } from './words.ts';

interface QuestionArgs {
  originalFunctionCall?: { name?: string; args?: unknown };
  toolConfirmation?: { hint?: string; payload?: unknown; payloadSchema?: unknown };
  message?: unknown;
  responseSchema?: unknown;
  payload?: unknown;
}

/** Returns the question of a call in words. */
export function questionText({ kind, name, args }: Pick<Question, 'kind' | 'name' | 'args'>): string {
  const { originalFunctionCall: call, toolConfirmation, message } = args as QuestionArgs;
  const called = call ? `${call.name}(${json(call.args ?? {})})` : name;
  switch (kind) {
    case 'confirmation':
      return `May ${called} be called? ${ownHint(toolConfirmation?.hint)}`.trim();
    case 'input':
      return `${call ? `${call.name} asks: ` : ''}${typeof message === 'string' ? message : 'An agent asks for an answer.'}`;
    case 'credential':
      return `${called} needs a sign-in of the user.`;
    case 'result':
      return `${name}(${json(args)}) has no outcome yet.`;
  }
}

/** Returns the answer to a question in words; undefined for the result of another call. */
export function answerText(
  { kind }: Pick<Question, 'kind'>,
  response: Record<string, unknown>,
): string | undefined {
  const { confirmed, payload, result } = response;
  switch (kind) {
    case 'confirmation':
      if (typeof confirmed !== 'boolean') return json(response);
      return `${confirmed ? 'approved' : 'rejected'}${payload === undefined ? '' : ` with ${json(payload)}`}`;
    case 'input':
      return json(result ?? response);
    case 'credential':
      return 'the sign-in is done';
    case 'result':
      return undefined;
  }
}

/** Returns a hint of the tool; the usual hint says how programs answer. */
function ownHint(hint = ''): string {
  return hint.includes('{"confirmed": true}') ? '' : hint;
}

interface AnswerFormProps {
  question: Pick<Question, 'kind' | 'name' | 'args'>;
  /** Sends the response of the call. */
  onAnswer(response: Record<string, unknown>): Promise<void>;
}

/** The form that answers a question, made from the schema of its answer. */
export function AnswerForm({ question, onAnswer }: AnswerFormProps) {
  const { kind, args } = question;
  const { toolConfirmation, responseSchema, payload } = args as QuestionArgs;
  const proposed = kind === 'confirmation' ? toolConfirmation?.payload : payload;
  const schema = kind === 'confirmation' ? toolConfirmation?.payloadSchema : responseSchema;
  // Nobody approves values that were not looked at: those of the tool stand beside the fields until they are used.
  const [value, setValue] = useState<unknown>();
  const [uses, setUses] = useState(0);
  const [text, setText] = useState('');
  const { isBusy, error, act } = useAct();
  if (kind === 'credential')
    return <p class="hint">Only the user can sign in, in the program of the conversation.</p>;
  const hasForm = schema !== undefined || proposed !== undefined || kind === 'result';
  const needsValue = kind !== 'confirmation' && hasForm;
  const send = (response: Record<string, unknown>) => act(() => onAnswer(response));
  const answer = () => {
    if (kind === 'confirmation')
      return send({ confirmed: true, ...(value !== undefined && { payload: value }) });
    if (!hasForm) return send({ result: text });
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    send(isObject ? { ...value } : { result: value });
  };
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        answer();
      }}
    >
      {proposed !== undefined && (
        <Proposal
          value={proposed}
          onUse={() => {
            setValue(proposed);
            setUses(uses + 1);
          }}
        />
      )}
      {hasForm ? (
        <SchemaForm key={uses} schema={schema} value={value} onInput={setValue} />
      ) : (
        kind === 'input' && <Field label="Answer" value={text} onInput={setText} isRequired />
      )}
      <span class="buttons">
        <button type="submit" class="main" disabled={isBusy || (needsValue && value === undefined)}>
          {kind === 'confirmation' ? 'Approve' : 'Answer'}
        </button>
        {kind === 'confirmation' && (
          <button type="button" disabled={isBusy} onClick={() => send({ confirmed: false })}>
            Reject
          </button>
        )}
      </span>
      <Failure error={error} />
    </form>
  );
}

/** The values that a tool or an agent proposes, with a button that puts them into the fields. */
function Proposal({ value, onUse }: { value: unknown; onUse(): void }) {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const text = isObject
    ? Object.entries(value)
        .map(([name, each]) => `${name}: ${json(each)}`)
        .join(', ')
    : json(value);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of fields has a border and a legend
    <span class="proposal" role="group" aria-label="Values from the tool">
      <span>
        Values from the tool: <span class="mono">{text}</span>
      </span>
      <button type="button" class="quiet" onClick={onUse}>
        Use these values
      </button>
    </span>
  );
}
