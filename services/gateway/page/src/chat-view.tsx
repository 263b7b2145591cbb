import { type Question, questionsIn, type Run, type StoredEvent, textOf } from '@agentmesh/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { AnswerForm, questionText } from './answer-form.tsx';
import { client } from './api.ts';
import { useAct } from './hooks.ts';
import { Choice, Empty, Failure, Field, RunLink } from './parts.tsx';
import { EventBox, questionsById } from './session-view.tsx';

interface Place {
  app: string;
  user: string;
  session: string;
}

interface Line {
  seq?: number | undefined;
  event: StoredEvent['event'];
}

/** A chat with any app, to try it. */
export function ChatView({ apps, query }: { apps: readonly string[]; query: URLSearchParams }) {
  const [app, setApp] = useState(query.get('app') ?? '');
  const [user, setUser] = useState(query.get('user') ?? 'operator');
  const [place, setPlace] = useState<Place | undefined>(() => placeOf(query));
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [piece, setPiece] = useState('');
  const [text, setText] = useState('');
  const [invocation, setInvocation] = useState('');
  const end = useRef<HTMLDivElement>(null);
  const { isBusy, error, act } = useAct();
  const chosen = app === '' ? (apps[0] ?? '') : app;
  const add = (line: Line) => setLines((old) => [...old, line]);
  const read = async (run: Run) => {
    setInvocation(run.invocationId);
    try {
      for await (const { event, seq } of run) {
        if (event.partial) setPiece((old) => old + textOf(event));
        else {
          setPiece('');
          add({ event, seq });
        }
      }
    } finally {
      setPiece('');
    }
  };
  const open = async (): Promise<Place> => {
    if (place) return place;
    const made = await client().createSession({ app: chosen, user });
    setPlace(made);
    return made;
  };
  const say = () =>
    act(async () => {
      const at = await open();
      setText('');
      add({ event: messageOf(text) });
      await read(await client().run(at, text));
    });
  // Each new line moves the end.
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [lines, piece]);
  const restart = () => {
    setPlace(undefined);
    setLines([]);
    setInvocation('');
  };
  const choose = (set: (value: string) => void) => (value: string) => {
    set(value);
    restart();
  };
  const question = openQuestion(lines);
  const asked = questionsById(lines.map(({ event }) => event));
  return (
    <>
      <h1>Chat</h1>
      <div class="bar-of-fields">
        <Choice label="App" value={chosen} choices={apps} onInput={choose(setApp)} />
        <Field label="User" value={user} onInput={choose(setUser)} />
        <button type="button" onClick={restart} disabled={isBusy}>
          New session
        </button>
      </div>
      <section class="panel chat" aria-label="Conversation" aria-live="polite">
        {lines.length === 0 && <Empty>Say something to {chosen}.</Empty>}
        <ol class="conversation">
          {lines.map(({ event, seq }) => (
            <li key={event.id} class={event.author === 'user' ? 'user' : 'agent'}>
              <EventBox event={event} seq={seq} asked={asked} />
            </li>
          ))}
          {piece !== '' && (
            <li class="agent">
              <article class="event">
                <p class="text">{piece}</p>
              </article>
            </li>
          )}
        </ol>
        {place && question && !isBusy && (
          <div class="asked">
            <p class="question">{questionText(question)}</p>
            <AnswerForm
              key={question.id}
              question={question}
              onAnswer={async (response) => await read(await client().answer(place, question, response))}
            />
          </div>
        )}
        <div ref={end} />
      </section>
      <Failure error={error} />
      <form
        class="say"
        onSubmit={(event) => {
          event.preventDefault();
          say();
        }}
      >
        <Field label="Message" value={text} onInput={setText} isRequired />
        <button type="submit" class="main" disabled={isBusy || chosen === '' || user === ''}>
          {isBusy ? 'Working …' : 'Send'}
        </button>
      </form>
      {place && invocation !== '' && (
        <p class="hint">
          Look at the last run: <RunLink id={invocation} {...place} isNew />
        </p>
      )}
    </>
  );
}

function placeOf(query: URLSearchParams): Place | undefined {
  const [app, user, session] = ['app', 'user', 'session'].map((name) => query.get(name));
  return app && user && session ? { app, user, session } : undefined;
}

let said = 0;

function messageOf(text: string): StoredEvent['event'] {
  said += 1;
  const content = { role: 'user', parts: [{ text }] };
  return {
    id: `said ${said}`,
    invocationId: '',
    author: 'user',
    timestamp: Date.now(),
    actions: {},
    content,
  };
}

/** Returns the last question without an answer. */
function openQuestion(lines: readonly Line[]): Question | undefined {
  const answered = new Set(
    lines.flatMap(({ event }) =>
      (event.content?.parts ?? []).map(({ functionResponse }) => functionResponse?.id),
    ),
  );
  const questions = lines.flatMap(({ event }) => questionsIn(event));
  return questions.findLast(({ id, kind }) => kind !== 'result' && !answered.has(id));
}
