import type { Verdict } from './goals.ts';
import { shown } from './tables.ts';

const rowHeight = 34;
const barLeft = 430;
const barWidth = 300;
/** The part of the bar at which the goal is. */
const goalAt = 1 / 3;

/**
 * Draws the goals as SVG, a bar for each: its length is the share of the goal that is used, or that is reached
 * for a goal from below. The line is the goal.
 */
export function drawGoals(verdicts: readonly Verdict[], caption: string): string {
  const measured = verdicts.filter(({ figure }) => figure !== undefined);
  const height = 64 + measured.length * rowHeight + 24;
  const goalX = barLeft + barWidth * goalAt;
  const rows = measured.map((verdict, at) => row(verdict, 64 + at * rowHeight));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 ${height}" font-family="system-ui, sans-serif" font-size="13" role="img">
<title>Figures of the benchmark against their goals</title>
<rect width="900" height="${height}" fill="#ffffff"/>
<text x="16" y="24" font-size="16" font-weight="600" fill="#1c2733">Figures against their goals</text>
<text x="16" y="44" fill="#5b6b7b">${escaped(caption)}</text>
${rows.join('\n')}
<line x1="${goalX}" y1="56" x2="${goalX}" y2="${height - 24}" stroke="#1c2733" stroke-dasharray="4 3"/>
<text x="${goalX}" y="${height - 8}" text-anchor="middle" fill="#1c2733">goal</text>
</svg>
`;
}

function row({ what, unit, goal, isAtLeast = false, figure = 0, verdict }: Verdict, y: number): string {
  const length = Math.min((figure / goal) * barWidth * goalAt, barWidth);
  const colour = verdict === 'reached' ? '#2f7d4f' : '#c2703d';
  const isCut = (figure / goal) * goalAt > 1;
  const label = `${shown(figure, unit)} (goal ${isAtLeast ? '≥' : '≤'} ${shown(goal, unit)})${isCut ? ' →' : ''}`;
  return `<text x="16" y="${y + 18}" fill="#1c2733">${escaped(what)}</text>
<rect x="${barLeft}" y="${y + 6}" width="${length.toFixed(1)}" height="16" rx="2" fill="${colour}"/>
<text x="${barLeft + barWidth + 8}" y="${y + 18}" fill="#1c2733">${escaped(label)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
