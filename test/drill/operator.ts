import { join } from 'node:path';
import { until } from '@agentmesh/testing';
import type { Page } from 'playwright-core';
import type { Sign } from './incident.ts';
import type { Prometheus } from './prometheus.ts';
import type { Stage } from './stage.ts';

/** The longest time until a sign comes or goes, in ms. */
const patienceMs = 90_000;

/** A sign that was found. */
export interface Seen {
  place: Sign['place'];
  /** The line, or the summary of the alert, or the text of the page. */
  text: string;
  /** The time of the find, by `performance.now()`. */
  at: number;
}

export interface OperatorOptions {
  stage: Stage;
  /** Absent when no sign is an alert. */
  prometheus?: Prometheus;
  /** Absent when no sign is in the console. */
  page?: Page;
  /** The folder of the screenshots. */
  shots?: string;
}

/** A person who looks for the signs of incidents: in the console, in `doctor`, among the alerts. */
export interface Operator {
  /** Waits for a sign. Takes a screenshot of the console. @throws Error when the sign does not come */
  find(incident: string, sign: Sign): Promise<Seen>;
  /** Waits until a sign is gone. @throws Error when it stays */
  miss(incident: string, sign: Sign): Promise<void>;
}

export function openOperator({ stage, prometheus, page, shots }: OperatorOptions): Operator {
  const look = async (sign: Sign): Promise<string | undefined> => {
    if (sign.place === 'doctor') return lineOf(await stage.doctor(), sign.line);
    if (sign.place === 'alert') return await alertOf(needed(prometheus, 'Prometheus'), sign);
    const { view, shows } = sign;
    const open = needed(page, 'a browser');
    await open.goto('about:blank');
    await open.goto(`${stage.mesh.gatewayUrl}/console#/${view}`);
    await open.getByRole('heading', { level: 1 }).waitFor();
    // The views ask the gateway every second.
    await open.waitForTimeout(2_000);
    const part = shows(open);
    return (await part.count()) === 0
      ? undefined
      : ((await part.getAttribute('aria-label')) ?? (await part.textContent()) ?? '');
  };
  const options = (what: string) => ({ what, timeoutMs: patienceMs, intervalMs: 300 });
  return {
    async find(incident, sign) {
      const text = await until(() => look(sign), options(`the sign of ${incident}: ${nameOf(sign)}`));
      const at = performance.now();
      if (sign.place === 'console' && page && shots !== undefined) {
        await sign.before?.(page);
        await page.screenshot({ path: join(shots, `${incident}.png`), clip: await contentOf(page) });
      }
      return { place: sign.place, text: text.replace(/\s+/g, ' ').slice(0, 300), at };
    },
    async miss(incident, sign) {
      const isGone = async () => (await look(sign)) === undefined;
      await until(isGone, options(`the end of the sign of ${incident}: ${nameOf(sign)}`));
    },
  };
}

/** Returns the part of the page that has something on it. */
async function contentOf(page: Page) {
  const { width, height } = page.viewportSize() ?? { width: 1_000, height: 640 };
  const main = await page.locator('main').boundingBox();
  return {
    x: 0,
    y: 0,
    width,
    height: Math.min(height, Math.ceil((main?.y ?? 0) + (main?.height ?? height))),
  };
}

function nameOf(sign: Sign): string {
  if (sign.place === 'doctor') return `doctor ${sign.line}`;
  return sign.place === 'alert' ? `the alert ${sign.alert}` : `the view "${sign.view}" of the console`;
}

/** Returns the line of the doctor; throws when the doctor itself has failed. */
function lineOf(output: string, line: RegExp): string | undefined {
  if (!/^(no problem was found|problems: \d+)$/m.test(output)) throw new Error(`doctor says ${output}`);
  return output.split('\n').find((each) => line.test(each));
}

async function alertOf(
  prometheus: Prometheus,
  { alert, labels = {} }: Extract<Sign, { place: 'alert' }>,
): Promise<string | undefined> {
  const found = (await prometheus.firing()).find(
    (each) =>
      alert.test(each.labels.alertname ?? '') &&
      Object.entries(labels).every(([name, value]) => each.labels[name] === value),
  );
  return found && `${found.labels.alertname}: ${found.annotations.summary}`;
}

function needed<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`this sign needs ${name}`);
  return part;
}
