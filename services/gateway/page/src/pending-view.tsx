import type { PendingCall } from '@agentmesh/client';
import { useState } from 'preact/hooks';
import { AnswerForm, questionText } from './answer-form.tsx';
import { client, get } from './api.ts';
import { hrefOf, usePolled } from './hooks.ts';
import { Badge, Empty, Failure, RunLink, SessionLink } from './parts.tsx';
import { spanText } from './words.ts';

/** The number of calls that are shown at first, and more with each page. */
const pageSize = 40;

/** The calls of all users that wait for an answer, each with a form that answers it. */
export function PendingView() {
  const { value, error, again } = usePolled<{ pending: PendingCall[]; more: boolean }>('pending', () =>
    get('/mesh/pending'),
  );
  const [note, setNote] = useState('');
  const [most, setMost] = useState(pageSize);
  const calls = value?.pending ?? [];
  return (
    <>
      <h1>Waiting for an answer</h1>
      <Failure error={error} />
      <p class="note" role="status">
        {note}
      </p>
      {value && calls.length === 0 && <Empty>Nothing waits: no confirmation, no question, no result.</Empty>}
      <ul class="cards">
        {calls.slice(0, most).map((call) => (
          <Call
            key={call.id}
            call={call}
            onAnswered={() => {
              setNote(`Answered for ${call.user}: ${questionText(call)} The run goes on.`);
              again();
            }}
          />
        ))}
      </ul>
      {calls.length > most && (
        <button type="button" onClick={() => setMost(most + pageSize)}>
          Show more of {calls.length}
        </button>
      )}
      {value?.more && <p class="hint">There are more calls than are shown.</p>}
    </>
  );
}

function Call({ call, onAnswered }: { call: PendingCall; onAnswered(): void }) {
  const { id, name, kind, agent, app, user, sessionId: session, invocationId, created, deadline } = call;
  const answer = async (response: Record<string, unknown>) => {
    // The gateway has accepted the answer when this returns; the run goes on without this page.
    await client().answer({ app, user, session }, { id, name }, response);
    onAnswered();
  };
  return (
    <li class="panel card" aria-label={`${kind} of ${agent}`}>
      <p class="facts">
        <Badge kind="wait">{kind}</Badge> {agent} · {app} ·{' '}
        <a href={hrefOf(['users'], { app, user })}>{user}</a> · session{' '}
        <SessionLink {...{ app, user, session }} /> · waits {spanText(Date.now() - created)}
        {deadline !== undefined && ` · ${spanText(deadline - Date.now())} left`}
      </p>
      <p class="question">{questionText(call)}</p>
      <AnswerForm question={call} onAnswer={answer} />
      <p class="hint">
        invocation <RunLink id={invocationId} {...{ app, user, session }} />
      </p>
    </li>
  );
}
