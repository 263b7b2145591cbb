import { parser } from '@prometheus-io/lezer-promql';

/** A series as an expression of PromQL selects it. */
export interface SelectedMetric {
  /** The name of the metric, with `_total`, `_bucket`, `_sum` or `_count`. */
  metric: string;
  /** The labels that the selection names. */
  labels: string[];
  /** The labels that must have one of some values, each with its values. */
  values: [label: string, value: string][];
}

/** The parts of the mesh's metrics that an expression needs. */
export interface ReadExpression {
  metrics: SelectedMetric[];
  /** The labels by which it groups, joins or replaces. */
  grouping: string[];
}

/**
 * Reads an expression by Prometheus' own grammar.
 *
 * @throws Error with the place of the first part that is not PromQL
 */
export function readExpression(expression: string): ReadExpression {
  // Grafana puts a time span in the place of this variable.
  const text = expression.replaceAll('$__rate_interval', '5m');
  const metrics: SelectedMetric[] = [];
  const grouping: string[] = [];
  let inGrouping = false;
  const readers: Record<string, (part: string) => void> = {
    GroupingLabels() {
      inGrouping = true;
    },
    VectorSelector() {
      inGrouping = false;
      metrics.push({ metric: '', labels: [], values: [] });
    },
    Identifier(part) {
      const metric = metrics.at(-1);
      if (metric?.metric === '') metric.metric = part;
    },
    LabelName(part) {
      if (inGrouping) grouping.push(part);
    },
    FunctionCall: (part) => grouping.push(...sourceOf(part)),
    UnquotedLabelMatcher: (part) => addMatcher(metrics.at(-1), part),
  };
  parser
    .parse(text)
    .cursor()
    .iterate((node) => {
      if (node.type.isError) throw new Error(`no PromQL at ${node.from}: ${text}`);
      readers[node.name]?.(text.slice(node.from, node.to));
    });
  return { metrics, grouping };
}

function addMatcher(metric: SelectedMetric | undefined, matcher: string): void {
  const [, label = '', how = '', value = ''] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/s.exec(matcher) ?? [];
  metric?.labels.push(label);
  if (how.startsWith('!') || !/^[\w|]+$/.test(value)) return;
  for (const each of value.split('|')) metric?.values.push([label, each]);
}

/** Returns the label that `label_replace` reads. */
function sourceOf(call: string): string[] {
  const [, source] = /^label_replace\(.*, "(\w+)", "[^"]*"\)$/s.exec(call) ?? [];
  return source === undefined ? [] : [source];
}

/** A series of Prometheus' text format. */
export interface ShownSeries {
  metric: string;
  labels: Record<string, string>;
}

/** Reads the series of a page in Prometheus' text format. */
export function readPage(page: string): ShownSeries[] {
  return page
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, metric = '', inside = ''] = /^(\w+)(?:\{(.*)\})? \S+/.exec(line) ?? [];
      const pairs = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return { metric, labels: Object.fromEntries(pairs.map(([, name, value]) => [name, value])) };
    });
}
