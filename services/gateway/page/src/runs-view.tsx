import { useState } from 'preact/hooks';
import { get, type RunRow, type Status } from './api.ts';
import { hrefOf, useAct, usePolled } from './hooks.ts';
import { Choice, Empty, Failure, Field, RunLink, SessionLink, StatusBadge } from './parts.tsx';
import { count, spanText, timeText } from './words.ts';

const statuses: Status[] = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'ended'];

interface RunsPage {
  runs: RunRow[];
  next?: number;
}

/** The runs of all users, newest first, and the search for one by its id. */
export function RunsView({ apps, query }: { apps: readonly string[]; query: URLSearchParams }) {
  const [id, setId] = useState('');
  const app = query.get('app') ?? '';
  const user = query.get('user') ?? '';
  const status = query.get('status') ?? '';
  const filter = { app, user, status };
  const key = JSON.stringify(filter);
  const [older, setOlder] = useState<{ key: string; runs: RunRow[]; next?: number }>({ key, runs: [] });
  const { value, error } = usePolled<RunsPage>(key, () => get('/mesh/runs', { ...filter, limit: 50 }));
  const { isBusy, error: failure, act } = useAct();
  const choose = (change: Record<string, string>) => {
    location.hash = hrefOf(['runs'], { ...filter, ...change });
  };
  const shown = older.key === key ? older : { key, runs: [] as RunRow[], next: undefined };
  const next = shown.runs.length > 0 ? shown.next : value?.next;
  const first = value?.runs ?? [];
  const ids = new Set(first.map(({ invocationId }) => invocationId));
  const runs = [...first, ...shown.runs.filter(({ invocationId }) => !ids.has(invocationId))];
  return (
    <>
      <h1>Runs</h1>
      <div class="bar-of-fields">
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (id.trim() !== '') location.hash = hrefOf(['runs', id.trim()]);
          }}
        >
          <Field label="Find by id" value={id} onInput={setId} placeholder="id of an invocation" />
          <button type="submit">Find</button>
        </form>
        <Choice label="App" value={app} choices={apps} none="all" onInput={(each) => choose({ app: each })} />
        <Choice
          label="Status"
          value={status}
          choices={statuses}
          none="all"
          onInput={(each) => choose({ status: each })}
        />
        <Field label="User" value={user} onInput={(each) => choose({ user: each })} placeholder="all" />
      </div>
      <Failure error={error ?? failure} />
      {value && runs.length === 0 && <Empty>No runs yet. Start one in the chat.</Empty>}
      {runs.length > 0 && <RunTable runs={runs} />}
      {next !== undefined && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            act(async () => {
              const page = await get<RunsPage>('/mesh/runs', { ...filter, limit: 50, before: next });
              setOlder({ key, runs: [...shown.runs, ...page.runs], next: page.next });
            })
          }
        >
          Older runs
        </button>
      )}
    </>
  );
}

function RunTable({ runs }: { runs: readonly RunRow[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {[
              'invocation',
              'status',
              'since',
              'app',
              'agent',
              'user',
              'session',
              'model calls',
              'tokens',
            ].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => {
            const {
              invocationId,
              status,
              since,
              app,
              agent,
              user,
              session,
              llmCalls,
              tokens,
              error,
              cancelled,
            } = run;
            const why = cancelled ?? (error && `${error.code}: ${error.message}`);
            return (
              <tr key={invocationId}>
                <th scope="row">
                  <RunLink id={invocationId} {...{ app, user, session }} />
                </th>
                <td title={why}>
                  <StatusBadge status={status} />
                </td>
                <td title={timeText(since)}>{spanText(Date.now() - since)} ago</td>
                <td>{app}</td>
                <td>{agent}</td>
                <td>
                  <a href={hrefOf(['users'], { app, user })}>{user}</a>
                </td>
                <td class="cut">
                  <SessionLink {...{ app, user, session }} />
                </td>
                <td class="number">{llmCalls ?? ''}</td>
                <td class="number">{tokens === undefined ? '' : count(tokens, '', '').trim()}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
