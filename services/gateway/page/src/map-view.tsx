import { useMemo, useState } from 'preact/hooks';
import type { MeshMap, Replica } from './api.ts';
import { type Box, boxHeight, boxWidth, draw, type Line, lineOf, nodeOf } from './graph.ts';
import { hrefOf } from './hooks.ts';
import { Badge, Empty } from './parts.tsx';
import { type Rate, useRates } from './rates.ts';
import { count, shortReplica, spanText, timeText } from './words.ts';

/** The largest number of services that are drawn; more are listed only. */
const mostBoxes = 120;

/** The live map: services with their replicas and queues, and who calls whom. */
export function MapView({ map }: { map: MeshMap | undefined }) {
  const [chosen, setChosen] = useState<string>();
  const { rates, changes } = useRates(map);
  if (!map) return <Empty>Looking at the mesh …</Empty>;
  const services = map.agents.length + map.tools.length;
  const found = findService(map, chosen);
  return (
    <>
      <h1>Map</h1>
      <p class="facts">
        {count(map.agents.length, 'agent')} · {count(map.tools.length, 'tool')} ·{' '}
        {count(map.gateways.length, 'gateway')}
        {map.keepers.length > 0 && ` · ${count(map.keepers.length, 'keeper')}`} ·{' '}
        {map.deadLetters > 0 ? (
          <a href={hrefOf(['dead-letters'])}>{count(map.deadLetters, 'dead letter')}</a>
        ) : (
          'no dead letters'
        )}
      </p>
      {services === 0 && <Empty>No agent and no tool has joined the mesh yet.</Empty>}
      <div class="columns">
        <section class="panel graph" aria-label="Who calls whom">
          {services > mostBoxes ? (
            <Empty>
              {count(services, 'service')} are too many for a drawing; the list below has them all.
            </Empty>
          ) : (
            <Graph map={map} rates={rates} chosen={chosen} onChoose={setChosen} />
          )}
        </section>
        <aside class="panel side">
          {found ? <Details {...found} /> : <Hint />}
          <h2>Changes</h2>
          <ol class="changes" aria-live="polite">
            {changes.map(({ time, text, kind }) => (
              <li key={`${time} ${text}`} class={kind}>
                <time>{timeText(time)}</time> {text}
              </li>
            ))}
          </ol>
          {changes.length === 0 && <p class="hint">Replicas that come and go while you look appear here.</p>}
        </aside>
      </div>
      <h2>Services</h2>
      <ServiceTable map={map} rates={rates} onChoose={setChosen} />
    </>
  );
}

function Hint() {
  return <p class="hint">Choose a service to see its replicas.</p>;
}

function findService(
  { agents, tools }: MeshMap,
  id: string | undefined,
): Pick<Box, 'kind' | 'service'> | undefined {
  const agent = agents.find(({ name }) => nodeOf('agent', name) === id);
  if (agent) return { kind: 'agent', service: agent };
  const tool = tools.find(({ name }) => nodeOf('tool', name) === id);
  return tool && { kind: 'tool', service: tool };
}

interface GraphProps {
  map: MeshMap;
  rates: ReadonlyMap<string, Rate>;
  chosen: string | undefined;
  onChoose(id: string): void;
}

function Graph({ map, rates, chosen, onChoose }: GraphProps) {
  const shape = JSON.stringify([
    map.agents.map(({ name, calls }) => [name, calls]),
    map.tools.map(({ name }) => name),
  ]);
  // Places change with the shape alone.
  const { width, height, boxes, lines } = useMemo(() => draw(map), [shape]);
  const current = (box: Box) => findService(map, nodeOf(box.kind, box.service.name))?.service ?? box.service;
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="presentation">
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0,0 8,4 0,8Z" />
        </marker>
      </defs>
      {lines.map(({ from, to, how, path }) => (
        <path
          key={`${from} ${to} ${how}`}
          d={path}
          class={`line ${how} ${chosen === from || chosen === to ? 'chosen' : ''}`}
          marker-end="url(#arrow)"
        >
          <title>{`${from} ${how === 'transfer' ? 'transfers to' : 'calls'} ${to}`}</title>
        </path>
      ))}
      {lines.map((line) => {
        const id = lineOf(line.from, line.to, line.how);
        return <LineRate key={id} line={line} rate={rates.get(id)} />;
      })}
      {boxes.map((box) => {
        const id = nodeOf(box.kind, box.service.name);
        return (
          <ServiceBox
            key={id}
            box={{ ...box, service: current(box) }}
            rate={rates.get(id)}
            isChosen={chosen === id}
            onChoose={() => onChoose(id)}
          />
        );
      })}
    </svg>
  );
}

/** The calls on a line and, below it, their errors, in a second; nothing for a line without calls. */
function LineRate({ line: { from, to, end }, rate }: { line: Line; rate: Rate | undefined }) {
  if (!rate || rate.work === 0) return null;
  const errors = rate.errors > 0 ? `${rateText(rate.errors)} fail` : '';
  const x = end.x - 12;
  return (
    <text class="flow" x={x} y={end.y - 5} text-anchor="end">
      <title>{`${from} to ${to}: ${rateText(rate.work)}${errors && `, ${errors}`}`}</title>
      {rateText(rate.work)}
      {errors && (
        <tspan class="errors" x={x} y={end.y + 15}>
          {errors}
        </tspan>
      )}
    </text>
  );
}

const rateText = (rate: number) => `${rate < 0.1 ? '<0.1' : rate.toFixed(1)}/s`;

interface BoxProps {
  box: Box;
  rate: Rate | undefined;
  isChosen: boolean;
  onChoose(): void;
}

const mostDots = 5;

function ServiceBox({ box: { kind, service, x, y }, rate, isChosen, onChoose }: BoxProps) {
  const { name, replicas, queue } = service;
  const health = healthOf(service.replicas);
  const label = `${kind} ${name}: ${count(replicas.length, 'replica')}, ${queue.waiting} waiting, ${queue.working} at work`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing has no buttons
    <g
      class={`box ${kind} ${health} ${isChosen ? 'chosen' : ''}`}
      transform={`translate(${x},${y})`}
      role="button"
      // In a drawing the names of attributes count with their case.
      tabindex={0}
      aria-label={label}
      aria-pressed={isChosen}
      onClick={onChoose}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        onChoose();
      }}
    >
      <rect width={boxWidth} height={boxHeight} rx="10" />
      <rect class="stripe" width="5" height={boxHeight} rx="2" />
      <text x="16" y="23" class="name">
        {name.length > 27 ? `${name.slice(0, 26)}…` : name}
      </text>
      {replicas.slice(0, mostDots).map(({ replica }, at) => (
        <circle key={replica} cx={21 + at * 13} cy="40" r="4.5" />
      ))}
      <text x={replicas.length === 0 ? 16 : 22 + Math.min(replicas.length, mostDots) * 13} y="44">
        {replicas.length === 0 && <tspan class="absent">no replica </tspan>}
        {replicas.length > mostDots && `+${replicas.length - mostDots} `}
        <tspan class={queue.waiting > 0 ? 'busy' : ''}>{queueText(queue)}</tspan>
        {rate && rate.work > 0 && ` · ${rate.work.toFixed(1)}/s`}
        {rate && rate.errors > 0 && <tspan class="errors"> · {rate.errors.toFixed(1)} errors/s</tspan>}
      </text>
    </g>
  );
}

function healthOf(replicas: readonly Replica[]): string {
  return replicas.length === 0 ? 'gone' : '';
}

function queueText({ waiting, working, oldest }: Box['service']['queue']): string {
  if (waiting + working === 0) return 'idle';
  const age = oldest !== undefined && waiting > 0 ? ` · ${spanText(Date.now() - oldest)}` : '';
  const parts = [
    ...(waiting > 0 ? [`${waiting} waiting${age}`] : []),
    ...(working > 0 ? [`${working} at work`] : []),
  ];
  return parts.join(' · ');
}

function Details({ kind, service }: Pick<Box, 'kind' | 'service'>) {
  const { name, description, app, version, replicas, queue, ownTools = [], calls = [] } = service;
  return (
    <>
      <h2>
        {name} <Badge kind={kind}>{kind}</Badge>
      </h2>
      <p>{description}</p>
      <dl>
        <dt>version</dt>
        <dd>{version}</dd>
        {app !== undefined && (
          <>
            <dt>app</dt>
            <dd>
              {app} (<a href={hrefOf(['runs'], { app })}>runs</a>,{' '}
              <a href={hrefOf(['chat'], { app })}>chat</a>)
            </dd>
          </>
        )}
        {calls.length > 0 && (
          <>
            <dt>uses</dt>
            <dd>{calls.map(({ to }) => to).join(', ')}</dd>
          </>
        )}
        {ownTools.length > 0 && (
          <>
            <dt>own tools</dt>
            <dd>{ownTools.join(', ')}</dd>
          </>
        )}
        <dt>queue</dt>
        <dd>
          {queueText(queue)}
          {queue.redelivered > 0 && ` · ${queue.redelivered} delivered again`}
        </dd>
      </dl>
      <h3>Replicas</h3>
      {replicas.length === 0 && <Empty>None is up.</Empty>}
      <ul class="replicas">
        {replicas.map((each) => (
          <li key={each.replica}>
            <span class="mono" title={each.replica}>
              {shortReplica(each.replica)}
            </span>{' '}
            {each.version}
            {each.since !== undefined && ` · up ${spanText(Date.now() - each.since)}`} · {each.work ?? 0} done
            · {each.errors ?? 0} errors
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns the versions of the replicas that are up; that of the card when none is. */
function versionsOf(ofCard: string, replicas: readonly Replica[]): string[] {
  const found = new Set(replicas.flatMap(({ version }) => version ?? []));
  return found.size === 0 ? [ofCard] : [...found].sort();
}

interface TableProps {
  map: MeshMap;
  rates: ReadonlyMap<string, Rate>;
  onChoose(id: string): void;
}

function ServiceTable({ map, rates, onChoose }: TableProps) {
  const rows = [
    ...map.agents.map((service) => ({ kind: 'agent' as const, service })),
    ...map.tools.map((service) => ({ kind: 'tool' as const, service })),
  ];
  const sum = (replicas: readonly Replica[], of: 'requests' | 'work' | 'errors') =>
    replicas.reduce((total, each) => total + (each[of] ?? 0), 0);
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {[
              'service',
              'kind',
              'app',
              'version',
              'replicas',
              'waiting',
              'at work',
              'oldest',
              'done',
              'errors',
              'rate',
            ].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ kind, service: { name, app, version, replicas, queue } }) => {
            const id = nodeOf(kind, name);
            const versions = versionsOf(version, replicas);
            return (
              <tr key={id}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onChoose(id)}>
                    {name}
                  </button>
                </th>
                <td>{kind}</td>
                <td>{app ?? ''}</td>
                <td class={versions.length > 1 ? 'bad' : ''}>{versions.join(', ')}</td>
                <td class={replicas.length === 0 ? 'bad number' : 'number'}>{replicas.length}</td>
                <td class="number">{queue.waiting}</td>
                <td class="number">{queue.working}</td>
                <td class="number">
                  {queue.oldest === undefined ? '' : spanText(Date.now() - queue.oldest)}
                </td>
                <td class="number">{sum(replicas, 'work') + sum(replicas, 'requests')}</td>
                <td class={sum(replicas, 'errors') > 0 ? 'bad number' : 'number'}>
                  {sum(replicas, 'errors')}
                </td>
                <td class="number">{(rates.get(id)?.work ?? 0).toFixed(1)}/s</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
