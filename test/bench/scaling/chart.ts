import type { ScalingRules } from './autoscaler.ts';
import type { Burst, Sample, SimulationReport } from './simulate.ts';

const [width, height] = [900, 420];
const [left, right] = [60, 20];

/** One of the two panels: its place, its scale and its name. */
interface Panel {
  top: number;
  bottom: number;
  most: number;
  title: string;
}

/** Draws the lag and the replicas over the time as SVG. */
export function drawScaling(
  { samples }: Pick<SimulationReport, 'samples'>,
  bursts: readonly Burst[],
  rules: ScalingRules,
): string {
  const end = Math.max(...samples.map(({ time }) => time));
  const x = (time: number) => left + (time / end) * (width - left - right);
  const lag = {
    top: 86,
    bottom: 220,
    most: most(samples.map((each) => each.waiting + each.working)),
    title: 'runs in the queue',
  };
  const count = { top: 278, bottom: 384, most: rules.max, title: 'replicas' };
  const line = (panel: Panel, of: (sample: Sample) => number, colour: string, dash = '') =>
    `<polyline points="${stepsOf(samples, of)
      .map(([time, value]) => `${x(time).toFixed(1)},${yOf(panel, value).toFixed(1)}`)
      .join(' ')}" fill="none" stroke="${colour}" stroke-width="1.6"${dash}/>`;
  const marks = bursts.map(
    ({ at, runs }) =>
      `<line x1="${x(at)}" y1="${lag.top - 2}" x2="${x(at)}" y2="${count.bottom}" stroke="#b5c0ca" stroke-dasharray="3 3"/>
<text x="${x(at) + 4}" y="${lag.top + 10}" fill="#5b6b7b">+${runs}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>Runs in the queue and replicas over the time</title>
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="16" y="24" font-size="16" font-weight="600" fill="#1c2733">Replicas follow the queue</text>
<text x="16" y="42" fill="#5b6b7b">time in s; 1 s stands for 15 s of a cluster</text>
${marks.join('\n')}
${[lag, count].map(axis).join('\n')}
${line(lag, ({ waiting, working }) => waiting + working, '#2f6fb0')}
${line(lag, ({ working }) => working, '#2f7d4f')}
${line(count, ({ wanted }) => wanted, '#c2703d', ' stroke-dasharray="4 2"')}
${line(count, ({ serving }) => serving, '#2f7d4f')}
${legend(['waiting and at work', '#2f6fb0'], ['at work', '#2f7d4f'], 66)}
${legend(['wanted', '#c2703d'], ['serving', '#2f7d4f'], 258)}
${Array.from({ length: Math.floor(end / 20_000) + 1 }, (_, at) => `<text x="${x(at * 20_000)}" y="${height - 16}" text-anchor="middle" fill="#5b6b7b">${at * 20}</text>`).join('\n')}
</svg>
`;
}

function most(values: readonly number[]): number {
  return Math.max(100, Math.ceil(Math.max(...values) / 100) * 100);
}

function yOf({ top, bottom, most: largest }: Panel, value: number): number {
  return bottom - (Math.min(value, largest) / largest) * (bottom - top);
}

/** Returns the corners of a line with steps: a value holds until the next sample that differs. */
function stepsOf(
  samples: readonly Sample[],
  of: (sample: Sample) => number,
): [time: number, value: number][] {
  const corners: [number, number][] = [];
  for (const sample of samples) {
    const before = corners.at(-1);
    const value = of(sample);
    if (before?.[1] === value && sample !== samples.at(-1)) continue;
    if (before) corners.push([sample.time, before[1]]);
    corners.push([sample.time, value]);
  }
  return corners;
}

function axis(panel: Panel): string {
  const ticks = [0, panel.most / 2, panel.most];
  const lines = ticks.map(
    (value) =>
      `<line x1="${left}" y1="${yOf(panel, value)}" x2="${width - right}" y2="${yOf(panel, value)}" stroke="#e3e8ed"/>
<text x="${left - 6}" y="${yOf(panel, value) + 4}" text-anchor="end" fill="#5b6b7b">${value}</text>`,
  );
  return `<text x="16" y="${panel.top - 20}" fill="#1c2733">${panel.title}</text>\n${lines.join('\n')}`;
}

function legend(first: [string, string], second: [string, string], y: number): string {
  return [first, second]
    .map(
      ([text, colour], at) =>
        `<line x1="${180 + at * 160}" y1="${y - 4}" x2="${200 + at * 160}" y2="${y - 4}" stroke="${colour}" stroke-width="2"/><text x="${206 + at * 160}" y="${y}" fill="#1c2733">${text}</text>`,
    )
    .join('\n');
}
