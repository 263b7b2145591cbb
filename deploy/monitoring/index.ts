import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { dashboards } from './dashboards.ts';
import { type ReadExpression, readExpression } from './promql.ts';

export { readPage, type ShownSeries } from './promql.ts';

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});

const file = join(import.meta.dirname, 'alerts.yaml');

/** The alerts of alerts.yaml. */
export const alerts = rulesSchema
  .parse(parse(readFileSync(file, 'utf8')))
  .groups.flatMap(({ rules }) => rules);

/** An expression, with the alert or the panel that uses it. */
export interface UsedExpression extends ReadExpression {
  where: string;
  expression: string;
}

const panelSchema = z.object({
  title: z.string().optional(),
  targets: z.array(z.object({ expr: z.string() })).optional(),
});

/** Reads all expressions of alerts and dashboards. @throws Error for one that is not PromQL */
export function usedExpressions(): UsedExpression[] {
  const ofAlerts = alerts.map(({ alert, expr }) => ({ where: alert, expression: expr }));
  const ofPanels = Object.entries(dashboards).flatMap(([name, { panels = [] }]) =>
    z
      .array(panelSchema)
      .parse(panels)
      .flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ where: `${name}: ${title}`, expression: expr })),
      ),
  );
  return [...ofAlerts, ...ofPanels].map((each) => ({ ...each, ...readExpression(each.expression) }));
}
