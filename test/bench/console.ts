/**
 * Measures how long the console and the routes behind it take with many sessions: from the first byte of the address to
 * the content, in Chromium, in new tabs.
 *
 * `PATH=$PATH:/usr/sbin node_modules/.bin/node test/bench/console.ts [sessions] [loads]`, default 10000 40
 */
import { createEvent } from '@agentmesh/agent';
import { launchMesh } from '@agentmesh/deploy/launch';
import { connectRedisStore } from '@agentmesh/store';
import { chromium } from 'playwright-core';

const [sessions = 10_000, loads = 40] = process.argv.slice(2).map(Number);
/** Number of sessions of one user, of sessions that are made at once, and one of how many sessions asks a question. */
const perUser = 5;
const atOnce = 50;
const asks = 20;
const app = 'customer_app';

await using mesh = await launchMesh({ model: 'scripted' });
await using store = await connectRedisStore({ url: mesh.redisUrl });

/** Makes a session with a run that has ended, as a replica does. */
async function makeSession(n: number): Promise<void> {
  const ref = { appName: app, userId: `user-${Math.floor(n / perUser)}`, sessionId: `session-${n}` };
  const invocationId = `e-${n}`;
  const session = await store.sessions.createSession(ref);
  const run = { ...ref, invocationId };
  await store.sessions.leases.take(run, { run: 'run', whenBusy: 'enqueue', agent: 'customer_agent' });
  const question = { id: `adk-${n}`, name: 'adk_request_input', args: { message: 'How many?' } };
  const parts = [
    ['user', { text: 'My account is locked!' }],
    ['customer_agent', { functionCall: { id: `call-${n}`, name: 'check_urgency', args: {} } }],
    ['customer_agent', { functionResponse: { id: `call-${n}`, name: 'check_urgency', response: {} } }],
    ['customer_agent', n % asks === 0 ? { functionCall: question } : { text: 'No hurry, then.' }],
  ] as const;
  for (const [author, part] of parts) {
    const isQuestion = 'functionCall' in part && part.functionCall === question;
    const event = createEvent({
      ...{ invocationId, author, content: { role: author, parts: [part] } },
      ...(isQuestion && { longRunningToolIds: [question.id] }),
    });
    await store.sessions.appendEvent({ session, event });
  }
  await store.sessions.invocations.end(run, { status: 'completed' });
}

for (let n = 0; n < sessions; n += atOnce)
  await Promise.all(
    Array.from({ length: Math.min(atOnce, sessions - n) }, (_, more) => makeSession(n + more)),
  );
console.log(
  `${sessions} sessions of ${Math.ceil(sessions / perUser)} users, ${Math.ceil(sessions / asks)} questions`,
);

const last = `e-${sessions - 1}`;
/** The routes of the views, and the text by which a view is complete. */
const views: [view: string, path: string, content: string][] = [
  ['', '/mesh', '.box.agent'],
  ['runs', '/mesh/runs?limit=50', `text=${last}`],
  [`runs/${last}`, `/mesh/invocations/${last}`, '.bar.tool'],
  ['pending', '/mesh/pending', 'text=How many?'],
  ['dead-letters', '/mesh/dead-letters', 'text=There are none'],
  [
    `sessions/${app}/user-0/session-0`,
    `/apps/${app}/users/user-0/sessions/session-0/events`,
    'text=My account is locked!',
  ],
];

const percentile = (times: readonly number[], part: number) =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * part) - 1] ?? Number.NaN;
const row = (what: string, times: readonly number[]) =>
  console.log(
    `${what.padEnd(52)} p50 ${percentile(times, 0.5).toFixed(0)} ms  p95 ${percentile(times, 0.95).toFixed(0)} ms`,
  );

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

for (const [, path] of views) {
  const times: number[] = [];
  for (let n = 0; n < loads; n += 1)
    times.push(
      await time(async () => {
        const answer = await fetch(`${mesh.gatewayUrl}${path}`);
        if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
        await answer.text();
      }),
    );
  row(`GET ${path}`, times);
}

const browser = await chromium.launch({
  executablePath: process.env.BROWSER_PATH ?? '/usr/bin/chromium',
  // Chromium has no sandbox for root.
  chromiumSandbox: process.getuid?.() !== 0,
});
for (const [view, , content] of views) {
  const times: number[] = [];
  for (let n = 0; n < loads; n += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    times.push(
      await time(async () => {
        await page.goto(`${mesh.gatewayUrl}/console#/${view}`);
        await page.locator(content).first().waitFor();
      }),
    );
    await context.close();
  }
  row(`page /console#/${view}`, times);
}
await browser.close();
