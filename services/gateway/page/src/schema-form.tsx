import { useState } from 'preact/hooks';
import { Choice, Field } from './parts.tsx';
import { json } from './words.ts';

/** The part of JSON Schema for which there are fields; types may be in capitals, as in function declarations. */
interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

interface SchemaFormProps {
  schema: unknown;
  /** The value so far; undefined at the begin. */
  value: unknown;
  onInput(value: unknown): void;
}

/** The fields of an object with simple properties; a text with JSON for every other schema. */
export function SchemaForm({ schema, value, onInput }: SchemaFormProps) {
  const { properties } = (schema ?? {}) as Schema;
  const fields = Object.entries(properties ?? {});
  const isSimple = fields.length > 0 && fields.every(([, each]) => kindOf(each) !== undefined);
  if (!isSimple) return <JsonField value={value} onInput={onInput} />;
  const object = Object(value) as Record<string, unknown>;
  return (
    <>
      {fields.map(([name, each]) => (
        <SimpleField
          key={name}
          name={name}
          schema={each}
          isRequired={(schema as Schema).required?.includes(name) ?? false}
          value={object[name]}
          onInput={(next) => onInput({ ...object, [name]: next })}
        />
      ))}
    </>
  );
}

type Kind = 'choice' | 'boolean' | 'number' | 'integer' | 'string';

function kindOf({ type, enum: values }: Schema): Kind | undefined {
  if (values?.every((each) => typeof each === 'string')) return 'choice';
  const name = (Array.isArray(type) ? type.find((each) => each !== 'null') : type)?.toLowerCase();
  return (['boolean', 'number', 'integer', 'string'] as const).find((each) => each === name);
}

interface SimpleFieldProps {
  name: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  onInput(value: unknown): void;
}

function SimpleField({ name, schema, isRequired, value, onInput }: SimpleFieldProps) {
  const label = schema.title ?? name;
  const kind = kindOf(schema);
  // A box without a tick would be an answer that nobody has chosen.
  if (kind === 'boolean')
    return (
      <Choice
        label={label}
        value={typeof value === 'boolean' ? yesOrNo(value) : ''}
        choices={['yes', 'no']}
        none=""
        isRequired={isRequired}
        onInput={(next) => onInput(next === '' ? undefined : next === 'yes')}
      />
    );
  if (kind === 'choice')
    return (
      <Choice
        label={label}
        value={String(value ?? '')}
        choices={(schema.enum ?? []).map(String)}
        none=""
        isRequired={isRequired}
        onInput={(next) => onInput(next === '' ? undefined : next)}
      />
    );
  if (kind === 'string')
    return (
      <Field
        label={label}
        value={String(value ?? '')}
        onInput={onInput}
        isRequired={isRequired}
        placeholder={schema.description}
      />
    );
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="number"
        step={kind === 'integer' ? 1 : 'any'}
        min={schema.minimum}
        max={schema.maximum}
        required={isRequired}
        value={typeof value === 'number' ? value : ''}
        title={schema.description}
        onInput={({ currentTarget: { value: text } }) => onInput(text === '' ? undefined : Number(text))}
      />
    </label>
  );
}

const yesOrNo = (value: boolean) => (value ? 'yes' : 'no');

/** A value as JSON. A text that is no JSON is marked, and not taken. */
function JsonField({ value, onInput }: Omit<SchemaFormProps, 'schema'>) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [problem, setProblem] = useState('');
  return (
    <label class="field wide">
      <span>Answer as JSON</span>
      <textarea
        rows={4}
        value={text}
        aria-invalid={problem !== ''}
        placeholder={json({ status: 'approved' })}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          try {
            onInput(JSON.parse(currentTarget.value));
            setProblem('');
          } catch {
            onInput(undefined);
            setProblem('this is no JSON yet');
          }
        }}
      />
      {problem !== '' && text !== '' && <small>{problem}</small>}
    </label>
  );
}
