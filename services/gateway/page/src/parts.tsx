import type { ComponentChildren } from 'preact';
import type { ApiError, Status } from './api.ts';
import { hrefOf } from './hooks.ts';

/** A message about a failure; nothing without one. */
export function Failure({ error }: { error?: ApiError | string | undefined }) {
  const text = typeof error === 'string' ? error : error?.message;
  return text ? (
    <p class="failure" role="alert">
      {text}
    </p>
  ) : null;
}

export function Badge({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

export function StatusBadge({ status }: { status: Status }) {
  return <Badge kind={status}>{status}</Badge>;
}

/** A sentence in the place of an empty list. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function SessionLink({ app, user, session }: { app: string; user: string; session: string }) {
  return <a href={hrefOf(['sessions', app, user, session])}>{session}</a>;
}

interface RunLinkProps {
  id: string;
  app?: string;
  user?: string;
  session?: string;
  /** True for a run that was just accepted: nobody may have begun it. */
  isNew?: boolean;
}

export function RunLink({ id, isNew = false, ...place }: RunLinkProps) {
  return (
    <a class="mono" href={hrefOf(['runs', id], { ...place, ...(isNew && { new: '1' }) })}>
      {id}
    </a>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onInput(value: string): void;
  placeholder?: string;
  type?: 'text' | 'password';
  isRequired?: boolean;
}

/** A line of text with its label. */
export function Field({ label, value, onInput, placeholder, type = 'text', isRequired = false }: FieldProps) {
  const common = {
    ...{ value, placeholder, required: isRequired, autocomplete: 'off' as const, spellcheck: false },
    onInput: (event: { currentTarget: HTMLInputElement }) => onInput(event.currentTarget.value),
  };
  return (
    <label class="field">
      <span>{label}</span>
      {/* The types of Preact want one of the types in the code. */}
      <input {...common} {...({ type } as { type: 'text' })} />
    </label>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choices: readonly string[];
  onInput(value: string): void;
  /** The text of no choice; absent when one is always chosen. */
  none?: string;
  isRequired?: boolean;
}

/** A choice with its label. */
export function Choice({ label, value, choices, onInput, none, isRequired = false }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} required={isRequired} onInput={(event) => onInput(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {choices.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
