import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { alerts, usedExpressions } from './index.ts';
import { readExpression, readPage } from './promql.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool)
  console.warn('promtool is not here, so the alerts are not run by it: apt-get install prometheus');

/** Returns the output of promtool. @throws Error with what it found */
const promtool = (...args: string[]) =>
  execFileSync('promtool', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' });

/** The cases of promtool. */
const caseFiles = ['alerts.test.yaml', 'alerts-of-a-day.test.yaml'];

describe('the alerts', () => {
  it('each have a section of the runbook that says what it means, where to look and what to do', () => {
    const sections = read('docs/runbook.md').split(/^## /m).slice(1);
    const titles = sections.map((section) => section.split('\n')[0]);
    expect(titles.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
    for (const section of sections) expect(section).toMatch(/\*\*Means:.*\*\*Look:.*\*\*Do:/s);
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
  });

  it('each have a case in which they fire', () => {
    const cases = caseFiles.map((file) => read(`deploy/monitoring/${file}`)).join('\n');
    for (const { alert } of alerts) {
      const looks = cases.split(/alertname: /).filter((text) => text.startsWith(alert));
      expect(
        looks.filter((text) => /exp_alerts:\s+- exp_labels/.test(text)),
        alert,
      ).not.toEqual([]);
    }
  });

  it.skipIf(!hasPromtool)(
    'pass promtool, with their cases',
    () => {
      expect(promtool('check', 'rules', 'alerts.yaml')).toContain(`${alerts.length} rules found`);
      promtool('test', 'rules', ...caseFiles);
    },
    60_000,
  );

  it.skipIf(!hasPromtool)(
    'are refused by promtool when a case does not hold',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'agentmesh-alerts-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'alerts.yaml'), read('deploy/monitoring/alerts.yaml'));
      const cases = read('deploy/monitoring/alerts.test.yaml');
      writeFileSync(join(folder, 'cases.yaml'), cases.replace('10% of the runs', '11% of the runs'));
      expect(() => promtool('test', 'rules', join(folder, 'cases.yaml'))).toThrow();
    },
    60_000,
  );
});

describe('the expressions of alerts and dashboards', () => {
  const used = usedExpressions();
  const documented = read('docs/metrics.md');

  it('name only metrics, labels and values that docs/metrics.md has', () => {
    expect(used.length).toBeGreaterThan(30);
    const given = ['namespace', 'instance', 'http_response_status_code'];
    for (const { where, metrics } of used)
      for (const { metric, values } of metrics) {
        expect(documented, where).toContain(`\`${metric.replace(/_(?:total|bucket|sum|count)$/, '')}\``);
        for (const [label, value] of values.filter(([label]) => !given.includes(label)))
          expect(documented, `${where}: ${label}`).toContain(`\`${value}\``);
      }
  });

  it.skipIf(!hasPromtool)('are PromQL to promtool', () => {
    const folder = mkdtempSync(join(tmpdir(), 'agentmesh-panels-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const rules = used.map(({ expression }, at) => ({
      record: `panel_${at}`,
      expr: expression.replaceAll('$__rate_interval', '5m'),
    }));
    const file = join(folder, 'panels.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    expect(promtool('check', 'rules', file)).toContain(`${rules.length} rules found`);
  });
});

describe('the reader of PromQL', () => {
  it('finds metrics, labels, values and groups', () => {
    const text =
      'sum by (a) (rate(m_total{b="x|y", c!="z", d=~"v.*"}[$__rate_interval])) > label_replace(n, "a", "$1", "e", "(.*)")';
    expect(readExpression(text)).toEqual({
      metrics: [
        {
          metric: 'm_total',
          labels: ['b', 'c', 'd'],
          values: [
            ['b', 'x'],
            ['b', 'y'],
          ],
        },
        { metric: 'n', labels: [], values: [] },
      ],
      grouping: ['a', 'e'],
    });
  });

  it('refuses what is not PromQL', () => {
    expect(() => readExpression('sum by (a (m)')).toThrow('no PromQL');
  });

  it('reads a page of metrics', () => {
    expect(readPage('# HELP m x\nm{a="1",b="x,\\"y"} 3 17\nn 4\n')).toEqual([
      { metric: 'm', labels: { a: '1', b: 'x,\\"y' } },
      { metric: 'n', labels: {} },
    ]);
  });
});
