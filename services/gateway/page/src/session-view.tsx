import { type Question, questionsIn, type Session, type StoredEvent } from '@agentmesh/client';
import { useState } from 'preact/hooks';
import { answerText, questionText } from './answer-form.tsx';
import { get, pathOf } from './api.ts';
import { hrefOf, usePolled } from './hooks.ts';
import { Empty, Failure, RunLink } from './parts.tsx';
import { count, json, timeText } from './words.ts';

/** The number of events that are shown at first, and more with each page. */
const pageSize = 100;

interface Page {
  session: Session;
  events: StoredEvent[];
  lastSeq: number;
}

interface SessionViewProps {
  app: string;
  user: string;
  session: string;
}

/** The conversation of a session, its state, and the history of the state. */
export function SessionView({ app, user, session }: SessionViewProps) {
  const [size, setSize] = useState(pageSize);
  const path = `${pathOf(app, user)}/sessions/${encodeURIComponent(session)}`;
  const { value, error } = usePolled<Page>(`${path} ${size}`, async () => {
    const [found, { lastSeq }] = await Promise.all([
      get<Session>(path, { num_recent_events: 0 }),
      get<{ lastSeq: number }>(`${path}/events`, { limit: 1 }),
    ]);
    const after = Math.max(0, lastSeq - size);
    const { events } = await get<{ events: StoredEvent[] }>(`${path}/events`, {
      after,
      limit: Math.min(size, 1_000),
    });
    return { session: found, events, lastSeq };
  });
  const first = value?.events[0]?.seq ?? 1;
  return (
    <>
      <h1>
        Session <span class="mono">{session}</span>
      </h1>
      <p class="facts">
        {app} · user <a href={hrefOf(['users'], { app, user })}>{user}</a>
        {value && ` · ${count(value.lastSeq, 'event')}`} ·{' '}
        <a href={hrefOf(['chat'], { app, user, session })}>talk</a>
      </p>
      <Failure error={error} />
      {!value && !error && <Empty>Reading the log …</Empty>}
      {value && (
        <div class="columns">
          <section class="panel" aria-label="Conversation">
            <h2>Conversation</h2>
            {first > 1 && size < 1_000 && (
              <button type="button" onClick={() => setSize(size + 300)}>
                Earlier events
              </button>
            )}
            <Conversation events={value.events} {...{ app, user, session }} />
          </section>
          <aside class="panel side">
            <h2>State</h2>
            <State state={value.session.state} />
            <h2>Changes of the state</h2>
            <Changes events={value.events} />
          </aside>
        </div>
      )}
    </>
  );
}

function Conversation({ events, ...place }: SessionViewProps & { events: readonly StoredEvent[] }) {
  let invocation = '';
  const asked = questionsById(events.map(({ event }) => event));
  return (
    <ol class="conversation">
      {events.map(({ seq, event }) => {
        const begins = event.invocationId !== invocation;
        invocation = event.invocationId;
        return (
          <li key={seq} class={event.author === 'user' ? 'user' : 'agent'}>
            {begins && (
              <p class="hint begins">
                invocation <RunLink id={event.invocationId} {...place} />
              </p>
            )}
            <EventBox seq={seq} event={event} asked={asked} />
          </li>
        );
      })}
    </ol>
  );
}

/** Returns the questions of events by the ids of their calls. */
export function questionsById(events: readonly StoredEvent['event'][]): ReadonlyMap<string, Question> {
  return new Map(events.flatMap(questionsIn).map((question) => [question.id, question]));
}

/** Returns the result of a call in words: of a question, the question and the answer of the person. */
function responseText(
  { id = '', name = '', response = {} }: { id?: string; name?: string; response?: Record<string, unknown> },
  asked: ReadonlyMap<string, Question>,
): string {
  const question = asked.get(id);
  // The question may stand before the first event that is shown.
  const kind =
    question?.kind ??
    (/^adk_request_(confirmation|credential|input)$/.exec(name)?.[1] as Question['kind'] | undefined);
  const words = answerText({ kind: kind ?? 'result' }, response);
  if (words === undefined) return `← ${name}: ${json(response)}`;
  return `← ${question ? questionText(question) : kind} — ${words}`;
}

interface EventBoxProps {
  seq?: number | undefined;
  event: StoredEvent['event'];
  /** The questions of the conversation, by their ids. */
  asked: ReadonlyMap<string, Question>;
}

/** One event of a conversation: text, calls, results, and what went wrong. */
export function EventBox({ seq, event, asked }: EventBoxProps) {
  const { author, timestamp, content, errorMessage, actions } = event;
  const parts = content?.parts ?? [];
  const callText = ({
    id,
    name,
    args = {},
  }: {
    id?: string;
    name?: string;
    args?: Record<string, unknown>;
  }) => {
    const question = asked.get(id ?? '');
    return question && question.kind !== 'result'
      ? `? ${questionText(question)}`
      : `→ ${name}(${json(args)})`;
  };
  return (
    <article class="event">
      <p class="hint">
        {seq !== undefined && `${seq} · `}
        {author} · {timeText(timestamp)}
      </p>
      {parts.map(({ text, thought, functionCall, functionResponse, inlineData, fileData }, at) => (
        <div key={at}>
          {text !== undefined && <p class={thought ? 'text thought' : 'text'}>{text}</p>}
          {functionCall && <p class="call mono">{callText(functionCall)}</p>}
          {functionResponse && <p class="call mono">{responseText(functionResponse, asked)}</p>}
          {(inlineData ?? fileData) && <p class="call">file {inlineData?.mimeType ?? fileData?.mimeType}</p>}
        </div>
      ))}
      {actions.transferToAgent !== undefined && <p class="call">→ transfers to {actions.transferToAgent}</p>}
      <Failure error={errorMessage} />
    </article>
  );
}

function State({ state }: { state: Record<string, unknown> }) {
  const entries = Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return <Empty>The state is empty.</Empty>;
  return (
    <dl class="state">
      {entries.map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} value`} class="mono">
          {json(value)}
        </dd>,
      ])}
    </dl>
  );
}

function Changes({ events }: { events: readonly StoredEvent[] }) {
  const changes = events.flatMap(({ seq, event }) =>
    Object.entries(event.actions.stateDelta ?? {}).map(([name, value]) => ({ seq, event, name, value })),
  );
  if (changes.length === 0) return <Empty>The events that are shown change nothing.</Empty>;
  return (
    <ol class="changes">
      {changes.toReversed().map(({ seq, event, name, value }) => (
        <li key={`${seq} ${name}`}>
          <span class="hint">
            {seq} · {timeText(event.timestamp)} · {event.author}
          </span>
          <br />
          {name} = <span class="mono">{json(value)}</span>
        </li>
      ))}
    </ol>
  );
}
