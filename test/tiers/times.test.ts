import { describe, expect, it } from 'vitest';
import { timesReport, withTierTable } from './times.ts';

const files = [
  { tier: 'unit', file: 'a.test.ts', tests: 3, ms: 400 },
  { tier: 'integration', file: 'b.int.test.ts', tests: 2, ms: 31_000 },
  { tier: 'integration', file: 'c.int.test.ts', tests: 2, ms: 25_000 },
  { tier: 'long', file: 'd.long.test.ts', tests: 1, ms: 90_000 },
];

describe('the times of a run', () => {
  it('name the slow files of npm test without a reason, and not those of the long tests', () => {
    const report = timesReport(files, 60_000, { 'c.int.test.ts': 'waits for the disk' });
    const [, unexplained = ''] = report.split('without a reason');
    expect(unexplained).toContain('31.0 s  b.int.test.ts');
    expect(unexplained).not.toMatch(/[ad]\.|c\.int/);
    expect(report).toContain('56.0 s  integration: 2 files, 4 tests');
  });

  it('replace those of an earlier run on a page', () => {
    const page = 'before\n<!-- times: npm test -- --write-times -->\nold\n<!-- end of times -->\nafter\n';
    const once = withTierTable(page, files, 60_000);
    expect(once).toContain('| unit | 1 | 3 | 0 |');
    expect(once).not.toContain('old');
    expect(withTierTable(once, files, 60_000)).toBe(once);
    expect(() => withTierTable('a page', files, 1)).toThrow('has no <!-- times');
  });
});
