import type { Session } from '@agentmesh/client';
import { useState } from 'preact/hooks';
import { get, pathOf, send } from './api.ts';
import { hrefOf, useAct } from './hooks.ts';
import { Choice, Empty, Failure, Field, SessionLink } from './parts.tsx';
import { json } from './words.ts';

interface Found {
  app: string;
  user: string;
  sessions: Session[];
}

/** The sessions of a user, the export of all data of the user, and its deletion. */
export function UsersView({ apps, query }: { apps: readonly string[]; query: URLSearchParams }) {
  const [app, setApp] = useState(query.get('app') ?? '');
  const [user, setUser] = useState(query.get('user') ?? '');
  const [found, setFound] = useState<Found>();
  const { isBusy, error, act } = useAct();
  const chosen = app === '' ? (apps[0] ?? '') : app;
  const look = () =>
    act(async () => {
      const sessions = await get<Session[]>(`${pathOf(chosen, user)}/sessions`, { limit: 100 });
      setFound({ app: chosen, user, sessions });
    });
  return (
    <>
      <h1>Users</h1>
      <form
        class="bar-of-fields"
        onSubmit={(event) => {
          event.preventDefault();
          look();
        }}
      >
        <Choice label="App" value={chosen} choices={apps} onInput={setApp} />
        <Field label="User" value={user} onInput={setUser} isRequired placeholder="id of a user" />
        <button type="submit" class="main" disabled={isBusy}>
          Show
        </button>
      </form>
      <Failure error={error} />
      {found && <User key={`${found.app} ${found.user}`} found={found} onDeleted={look} />}
    </>
  );
}

function User({ found: { app, user, sessions }, onDeleted }: { found: Found; onDeleted(): void }) {
  const [typed, setTyped] = useState('');
  const [report, setReport] = useState('');
  const { isBusy, error, act } = useAct();
  return (
    <>
      <section class="panel" aria-label="Sessions">
        <h2>
          Sessions of {user} in {app}
        </h2>
        {sessions.length === 0 && <Empty>The user has no session.</Empty>}
        <ul>
          {sessions.map(({ id, lastUpdateTime }) => (
            <li key={id}>
              <SessionLink app={app} user={user} session={id} />{' '}
              <span class="hint">{new Date(lastUpdateTime * 1_000).toLocaleString()}</span>
            </li>
          ))}
        </ul>
        <p class="buttons">
          <a href={hrefOf(['runs'], { app, user })}>Runs</a>
          <a href={hrefOf(['chat'], { app, user })}>Talk as this user</a>
        </p>
      </section>
      <section class="panel" aria-label="Export">
        <h2>Export</h2>
        <p>All data of the user in this app, as lines of JSON.</p>
        <button type="button" disabled={isBusy} onClick={() => act(() => download(app, user))}>
          Export
        </button>
      </section>
      <section class="panel" aria-label="Deletion">
        <h2>Deletion</h2>
        <p>Deletes sessions, files, memories and credentials of the user in this app, for good.</p>
        <form
          class="bar-of-fields"
          onSubmit={(event) => {
            event.preventDefault();
            act(async () => {
              const answer = await send('DELETE', pathOf(app, user));
              setReport(json(await answer.json()));
              setTyped('');
              onDeleted();
            });
          }}
        >
          <Field label={`Type ${user} to confirm`} value={typed} onInput={setTyped} />
          <button type="submit" class="danger" disabled={isBusy || typed !== user}>
            Delete all data
          </button>
        </form>
        <p role="status" class="note mono">
          {report}
        </p>
        <Failure error={error} />
      </section>
    </>
  );
}

/** Saves the export of a user as a file. */
async function download(app: string, user: string): Promise<void> {
  const answer = await send('GET', `${pathOf(app, user)}/export`);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `${app}-${user}.ndjson`;
  link.click();
  URL.revokeObjectURL(address);
}
