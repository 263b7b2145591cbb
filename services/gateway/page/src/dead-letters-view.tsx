import { useState } from 'preact/hooks';
import { type DeadLetter, get, send } from './api.ts';
import { useAct, usePolled } from './hooks.ts';
import { Badge, Empty, Failure, RunLink, SessionLink } from './parts.tsx';
import { count, json, timeText } from './words.ts';

/** The work that no service could finish, with its replay. */
export function DeadLettersView() {
  const [after, setAfter] = useState(0);
  const [replayed, setReplayed] = useState<{ seq: number; invocationId: string }>();
  const { value, error, again } = usePolled<{ deadLetters: DeadLetter[]; next?: number }>(
    `letters ${after}`,
    () => get('/mesh/dead-letters', { after }),
  );
  const letters = value?.deadLetters ?? [];
  return (
    <>
      <h1>Dead letters</h1>
      <Failure error={error} />
      <p class="note" role="status">
        {replayed && (
          <>
            Dead letter {replayed.seq} runs again as <RunLink id={replayed.invocationId} isNew />
          </>
        )}
      </p>
      {value && letters.length === 0 && <Empty>There are none: all work was finished.</Empty>}
      <ul class="cards">
        {letters.map((letter) => (
          <Letter
            key={letter.seq}
            letter={letter}
            onReplayed={(invocationId) => {
              setReplayed({ seq: letter.seq, invocationId });
              again();
            }}
            onRemoved={again}
          />
        ))}
      </ul>
      {value?.next !== undefined && (
        <button type="button" onClick={() => setAfter(value.next ?? 0)}>
          Later letters
        </button>
      )}
    </>
  );
}

interface LetterProps {
  letter: DeadLetter;
  onReplayed(invocationId: string): void;
  onRemoved(): void;
}

function Letter({ letter, onReplayed, onRemoved }: LetterProps) {
  const { seq, writer, isForeign, subject, time, error, attempts, replica } = letter;
  const { app, user, session, invocationId } = letter;
  const [content, setContent] = useState<DeadLetter>();
  const [isSure, setSure] = useState(false);
  const { isBusy, error: failure, act } = useAct();
  const path = `/mesh/dead-letters/${seq}`;
  return (
    <li class="panel card" aria-label={`dead letter ${seq}`}>
      <p class="facts">
        <strong>#{seq}</strong> <Badge kind="failed">{error.code}</Badge> {timeText(time)} ·{' '}
        {count(attempts, 'delivery', 'deliveries')}
        {app !== undefined && ` · ${app}`}
        {user !== undefined && ` · user ${user}`}
        {app !== undefined && user !== undefined && session !== undefined && (
          <>
            {' · session '}
            <SessionLink {...{ app, user, session }} />
          </>
        )}
      </p>
      <p class="question">{error.message}</p>
      {isForeign && (
        <p class="question">
          {writer.kind} {writer.name} wrote this about work that is not its own. The letter may be forged, and
          is not replayed.
        </p>
      )}
      <p class="hint mono">
        {subject} · written by {writer.kind} {writer.name}
        {replica !== '' && ` · given up by ${replica}`}
        {invocationId !== undefined && ` · ${invocationId}`}
      </p>
      {content && <pre>{json(content.payload, 2)}</pre>}
      <span class="buttons">
        <button
          type="button"
          class="main"
          disabled={isBusy || isForeign}
          onClick={() =>
            act(async () => {
              const answer = (await (await send('POST', `${path}/replay`)).json()) as {
                invocationId: string;
              };
              onReplayed(answer.invocationId);
            })
          }
        >
          Replay
        </button>
        <button
          type="button"
          aria-expanded={content !== undefined}
          onClick={() => act(async () => setContent(content ? undefined : await get(path)))}
        >
          {content ? 'Hide the message' : 'Show the message'}
        </button>
        <button
          type="button"
          class="danger"
          disabled={isBusy}
          onClick={() => {
            if (!isSure) setSure(true);
            else
              act(async () => {
                await send('DELETE', path);
                onRemoved();
              });
          }}
        >
          {isSure ? 'Remove for good?' : 'Remove'}
        </button>
      </span>
      <Failure error={failure} />
    </li>
  );
}
