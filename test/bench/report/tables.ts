import type { Case } from '../cases.ts';
import { median } from '../median.ts';
import type { Figures, Verdict } from './goals.ts';

/** The result of one round of one case. */
export interface Round {
  perSecond: number;
  /** The median time of one repetition, in ms. */
  p50: number;
  /** The number of repetitions without a reply. */
  lost: number;
  /** CPU time for one repetition by process, in µs. */
  cpu: Record<string, number>;
}

/** Returns the medians over all rounds of a case. */
export function mediansOf(rounds: readonly Round[]): Figures {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50: median(rounds.map(({ p50 }) => p50)),
    cpu: median(rounds.map(({ cpu }) => Object.values(cpu).reduce((a, b) => a + b, 0))),
  };
}

/** Makes the table of the measured figures: medians, the spread of the rates, and CPU time by process. */
export function figuresTable(
  measured: ReadonlyMap<Case, readonly Round[]>,
  processes: readonly string[],
): string {
  const head = [
    'case',
    'in flight',
    'per second',
    'spread',
    'p50 (ms)',
    'lost replies',
    ...processes.map((name) => `${name} (µs)`),
  ];
  const rows = [...measured].map(([{ name, inFlight }, rounds]) => {
    const { perSecond, p50 } = mediansOf(rounds);
    const rates = rounds.map((each) => each.perSecond);
    const cpu = processes.map((each) => Math.round(median(rounds.map((round) => round.cpu[each] ?? 0))));
    const spread = `${Math.round(Math.min(...rates))}–${Math.round(Math.max(...rates))}`;
    const lost = rounds.reduce((sum, each) => sum + each.lost, 0);
    return [name, inFlight, Math.round(perSecond), spread, p50.toFixed(2), lost, ...cpu];
  });
  return markdown(head, rows);
}

/** Makes the table of the goals. */
export function goalsTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ what, unit, goal, isAtLeast, figure, floor, verdict }) => [
    what,
    `${isAtLeast ? '≥' : '≤'} ${shown(goal, unit)}`,
    shown(figure, unit),
    shown(floor, unit),
    verdict,
  ]);
  return markdown(['what', 'goal', 'figure', 'floor', 'verdict'], rows);
}

/** Writes a figure with its unit. */
export function shown(figure: number | undefined, unit: string): string {
  if (figure === undefined) return '';
  const digits = Math.abs(figure) >= 20 ? 0 : Math.abs(figure) >= 2 ? 1 : 2;
  return `${figure.toFixed(digits)} ${unit}`.trim();
}

function markdown(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map(line)].join('\n');
}
