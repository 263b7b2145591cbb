import { useState } from 'preact/hooks';
import { type Bar, client, get, type Waterfall } from './api.ts';
import { useAct, usePolled } from './hooks.ts';
import { Empty, Failure, SessionLink, StatusBadge } from './parts.tsx';
import { count, shortReplica, spanText, timeText } from './words.ts';

const kinds: Record<Bar['kind'], string> = {
  invocation: 'invocation',
  agent: 'agent',
  model: 'model call',
  tool: 'tool call',
  wait: 'wait for an answer',
  queue: 'wait for the session',
  attempt: 'attempt',
  takeover: 'takeover',
};

/** One invocation as a waterfall over the services that worked on it. */
export function WaterfallView({ id, query }: { id: string; query: URLSearchParams }) {
  const [isOver, setOver] = useState(false);
  const place = Object.fromEntries(['app', 'user', 'session'].map((name) => [name, query.get(name) ?? '']));
  const { value, error, again } = usePolled<Waterfall>(
    `${id} ${query}`,
    async () => {
      const found = await get<Waterfall>(`/mesh/invocations/${encodeURIComponent(id)}`, place);
      setOver(found.status !== 'waiting' && found.status !== 'running');
      return found;
    },
    isOver ? 10_000 : 1_000,
    query.has('new'),
  );
  const { isBusy, error: failure, act } = useAct();
  return (
    <>
      <h1>
        Invocation <span class="mono">{id}</span> {value && <StatusBadge status={value.status} />}
      </h1>
      <Failure error={error ?? failure} />
      {!value && !error && <Empty>Reading the log …</Empty>}
      {value && <Facts value={value} />}
      {value && !isOver && (
        <button
          type="button"
          class="danger"
          disabled={isBusy}
          onClick={() =>
            act(async () => {
              const { app, user, session } = value;
              await client().cancel({ app, user, session }, id, {
                reason: 'an operator cancelled it in the console',
              });
              again();
            })
          }
        >
          Cancel the run
        </button>
      )}
      {value && <Bars bars={value.bars} />}
      {value?.isCut && <p class="hint">There are more events than are shown; the session has them all.</p>}
    </>
  );
}

function Facts({
  value: { app, user, session, bars, tokens, llmCalls, error, cancelled },
}: {
  value: Waterfall;
}) {
  const [root] = bars;
  const span = root ? (root.to ?? Date.now()) - root.from : 0;
  return (
    <>
      <p class="facts">
        {app} · user {user} · session <SessionLink {...{ app, user, session }} />
        {root && ` · ${timeText(root.from)} · ${spanText(span)}`}
        {llmCalls !== undefined && ` · ${count(llmCalls, 'model call')}`}
        {tokens && ` · ${count(tokens.input, 'token')} in, ${tokens.output.toLocaleString('en')} out`}
      </p>
      {cancelled !== undefined && <Failure error={`cancelled: ${cancelled}`} />}
      {error && cancelled === undefined && <Failure error={`${error.code}: ${error.message}`} />}
    </>
  );
}

function Bars({ bars }: { bars: readonly Bar[] }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const from = Math.min(...bars.map((bar) => bar.from));
  const to = Math.max(...bars.map((bar) => bar.to ?? Date.now()), from + 1);
  const depths = depthsOf(bars);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <section class="panel waterfall" aria-label="Waterfall">
      <div class="row axis" aria-hidden="true">
        <span class="label" />
        <span class="track">
          {ticks.map((part) => (
            <span key={part} class="tick" style={{ left: `${part * 100}%` }}>
              {spanText((to - from) * part)}
            </span>
          ))}
        </span>
      </div>
      <ol>
        {bars.map((bar) => (
          <li key={bar.id}>
            <Row
              bar={bar}
              depth={depths.get(bar.id) ?? 0}
              {...{ from, to }}
              isOpen={open.has(bar.id)}
              onToggle={() => toggle(bar.id)}
            />
            {open.has(bar.id) && <Details bar={bar} />}
          </li>
        ))}
      </ol>
      <p class="legend">
        {(['agent', 'model', 'tool', 'wait', 'queue', 'attempt', 'takeover'] as const).map((kind) => (
          <span key={kind}>
            <i class={`swatch ${kind}`} /> {kinds[kind]}
          </span>
        ))}
      </p>
    </section>
  );
}

interface RowProps {
  bar: Bar;
  depth: number;
  from: number;
  to: number;
  isOpen: boolean;
  onToggle(): void;
}

function Row({ bar, depth, from, to, isOpen, onToggle }: RowProps) {
  const end = bar.to ?? to;
  const scale = 100 / (to - from);
  const span = spanText(end - bar.from);
  const takeovers = bar.kind === 'agent' ? bar.replicas.length - 1 : 0;
  const isNamed = ['queue', 'attempt', 'takeover'].includes(bar.kind);
  const label = `${isNamed ? '' : `${kinds[bar.kind]} `}${bar.name}, ${span}${bar.to === undefined ? ', not ended' : ''}${bar.error ? ', failed' : ''}`;
  return (
    <button type="button" class="row" aria-expanded={isOpen} aria-label={label} onClick={onToggle}>
      <span class="label" style={{ paddingLeft: `${depth * 18 + 8}px` }}>
        <i class={`swatch ${bar.kind}`} />
        <span class="text">{bar.name}</span>
        {takeovers > 0 && <span class="badge waiting">{count(takeovers, 'takeover')}</span>}
      </span>
      <span class="track">
        <span
          class={`bar ${bar.kind} ${bar.error ? 'failed' : ''} ${bar.to === undefined ? 'open' : ''}`}
          style={{ left: `${(bar.from - from) * scale}%`, width: `max(3px, ${(end - bar.from) * scale}%)` }}
        />
        <span class="span" style={{ left: `${(end - from) * scale}%`, paddingLeft: '6px' }}>
          {span}
        </span>
      </span>
    </button>
  );
}

function Details({ bar }: { bar: Bar }) {
  return (
    <div class="details">
      <dl>
        <dt>kind</dt>
        <dd>{kinds[bar.kind]}</dd>
        <dt>from</dt>
        <dd>{timeText(bar.from)}</dd>
        {bar.replicas.length > 0 && (
          <>
            <dt>by</dt>
            <dd class="mono">
              {bar.replicas.map((each) => `${each.replace(/-.*/, '')} ${shortReplica(each)}`).join(' → ')}
            </dd>
          </>
        )}
        {bar.asks !== undefined && (
          <>
            <dt>asks</dt>
            <dd>{bar.asks}</dd>
          </>
        )}
        {bar.tokens && (
          <>
            <dt>tokens</dt>
            <dd>
              {bar.tokens.input} in, {bar.tokens.output} out
            </dd>
          </>
        )}
        {bar.error !== undefined && (
          <>
            <dt>error</dt>
            <dd class="bad">{bar.error}</dd>
          </>
        )}
      </dl>
      {bar.input !== undefined && (
        <>
          <h3>Input</h3>
          <pre>{bar.input}</pre>
        </>
      )}
      {bar.output !== undefined && bar.output !== '' && (
        <>
          <h3>Output</h3>
          <pre>{bar.output}</pre>
        </>
      )}
    </div>
  );
}

function depthsOf(bars: readonly Bar[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const { id, parent } of bars) depths.set(id, parent === undefined ? 0 : (depths.get(parent) ?? 0) + 1);
  return depths;
}
