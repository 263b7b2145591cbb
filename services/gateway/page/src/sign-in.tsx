import { useState } from 'preact/hooks';
import { Failure, Field } from './parts.tsx';

/** Asks for an API key or a token, which stays in this tab. */
export function SignIn({ isRefused, onKey }: { isRefused: boolean; onKey(key: string): void }) {
  const [key, setKey] = useState('');
  return (
    <main class="sign-in">
      <h1>agentmesh console</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onKey(key.trim());
        }}
      >
        <Field label="API key or token" type="password" value={key} onInput={setKey} isRequired />
        <button type="submit" class="main">
          Open
        </button>
      </form>
      {isRefused && <Failure error="The gateway does not accept this key." />}
      <p class="hint">
        An operator creates a key: <code>agentmesh keys create console --role operator</code>. It stays in
        this tab until you close it.
      </p>
    </main>
  );
}
