/** The time of one test file: of loading it, its tests and its hooks. */
export interface FileTime {
  tier: string;
  file: string;
  tests: number;
  ms: number;
}

/** The time in ms from which a file of `npm test` needs a reason. */
const slowMs = 20_000;
const shown = 20;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** The tiers whose files must be fast: those of `npm test`. */
const fastTiers = ['unit', 'slow', 'simulation', 'integration'];

/**
 * Returns the lines for the end of a run: the slowest files, the time of each tier, and the slow files for which
 * `reasons`, by file, has no reason.
 */
export function timesReport(
  files: readonly FileTime[],
  wallMs: number,
  reasons: Readonly<Record<string, string>>,
): string {
  const slowest = files.toSorted((a, b) => b.ms - a.ms);
  const lines = ['', ` The slowest ${Math.min(shown, files.length)} files`];
  for (const { file, ms } of slowest.slice(0, shown)) lines.push(`${seconds(ms).padStart(10)}  ${file}`);
  lines.push('', ' The tiers (files, tests, sum of the times of the files)');
  for (const { tier, count, tests, ms } of tiersOf(files))
    lines.push(`${seconds(ms).padStart(10)}  ${tier}: ${count} files, ${tests} tests`);
  lines.push(`${seconds(wallMs).padStart(10)}  by the clock`);
  const unexplained = slowest.filter(
    ({ tier, file, ms }) => ms > slowMs && fastTiers.includes(tier) && !(file in reasons),
  );
  if (unexplained.length > 0) {
    lines.push('', ` Over ${seconds(slowMs)}, without a reason in test/tiers/slow-files.ts`);
    for (const { file, ms } of unexplained) lines.push(`${seconds(ms).padStart(10)}  ${file}`);
  }
  return `${lines.join('\n')}\n`;
}

const begin = '<!-- times: npm test -- --write-times -->';
const end = '<!-- end of times -->';

/** Returns a page in Markdown with the times of this run between its marks. @throws Error for a page without them */
export function withTierTable(page: string, files: readonly FileTime[], wallMs: number): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page has no ${begin} and ${end}`);
  const rows = tiersOf(files).map(
    ({ tier, count, tests, ms }) => `| ${tier} | ${count} | ${tests} | ${Math.round(ms / 1_000)} |`,
  );
  const table = [
    '| tier | files | tests | sum of the times of its files, s |',
    '| --- | --: | --: | --: |',
    ...rows,
  ];
  const clock = `By the clock ${Math.round(wallMs / 1_000)} s, with three files at a time.`;
  return [`${before}${begin}`, '', ...table, '', clock, '', `${end}${after}`].join('\n');
}

function tiersOf(files: readonly FileTime[]) {
  return [...Map.groupBy(files, ({ tier }) => tier)].map(([tier, own]) => ({
    tier,
    count: own.length,
    tests: own.reduce((sum, { tests }) => sum + tests, 0),
    ms: own.reduce((sum, { ms }) => sum + ms, 0),
  }));
}
