import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectNats } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { subjects } from '@agentmesh/protocol';
import { pauseProcess, until } from '@agentmesh/testing';
import { type Browser, type BrowserContext, chromium, type Page, type Response } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';
import { findBrowser, shots } from './web-ui.fixture.ts';

const used = [
  ...['customer_agent', 'support_agent', 'weather_agent', 'get_weather', 'assistant_agent', 'summary_agent'],
  ...['time_off_agent', 'reimbursement_agent', 'ask_for_approval', 'reimburse'],
];
const services = samples.filter(({ manifest }) => used.includes(manifest.name));
const names = subjects();
let mesh: LocalMesh;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Errors of the page, requests to other hosts, and refusals of its policy. */
const failures: string[] = [];
/** Ends the load of the mesh. */
const load = new AbortController();
let loading: Promise<void>;

beforeAll(async () => {
  mkdirSync(shots, { recursive: true });
  mesh = await launchMesh({ services, model: 'scripted', ackWaitMs: 1_000 });
  loading = keepTalking(load.signal);
  browser = await chromium.launch({
    executablePath: findBrowser(),
    // Chromium has no sandbox for root.
    chromiumSandbox: process.getuid?.() !== 0,
  });
  context = await browser.newContext({ viewport: { width: 1_300, height: 850 }, locale: 'en-US' });
  page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on('pageerror', ({ message }) => failures.push(message));
  page.on('console', (message) => {
    // An invocation is not found until a replica has taken its run; the page asks again.
    const isEarly = message.location().url.includes('/mesh/invocations/') && message.text().includes('404');
    if (message.type() === 'error' && !isEarly) failures.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(mesh.gatewayUrl) && !url.startsWith('data:')) failures.push(`request to ${url}`);
  });
}, 60_000);
afterAll(async () => {
  load.abort();
  await loading;
  await browser?.close();
  await mesh?.[Symbol.asyncDispose]();
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await shoot(`failed ${task.name.slice(0, 40)}`);
  expect(failures.splice(0)).toEqual([]);
});

/** Talks to an app all the time, as users do while an operator looks. */
async function keepTalking(signal: AbortSignal): Promise<void> {
  const client = restClient(mesh.gatewayUrl);
  while (!signal.aborted) {
    const session = await client.createSession('customer_app', 'busy');
    const userId = 'busy';
    await (await client.run('customer_app', session, 'My account is locked!', { userId })).text();
    await pause(300);
  }
}

const shoot = (name: string) => page.screenshot({ path: join(shots, `console-${name}.png`) });
const open = (view: string) => page.goto(`${mesh.gatewayUrl}/console#/${view}`);
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const sample = (name: string): Sample => {
  const found = services.find(({ manifest }) => manifest.name === name);
  if (!found) throw new Error(`${name} is no sample`);
  return found;
};

async function talk(app: string, text: string) {
  const client = restClient(mesh.gatewayUrl);
  const session = await client.createSession(app);
  const events = await client.events(app, session, text);
  return { session, invocationId: events[0]?.invocationId ?? '' };
}

describe('the console, while runs go on', () => {
  it('finds a run by its id among others, and shows its waterfall over services', async () => {
    const { invocationId, session } = await talk('assistant_app', 'Summarize: the mesh works.');
    await open('runs');
    await page
      .getByRole('row', { name: /customer_app/ })
      .first()
      .waitFor();
    await shoot('runs');
    await page.getByLabel('Find by id').fill(invocationId);
    await button('Find').click();
    const waterfall = page.getByRole('region', { name: 'Waterfall' });
    await waterfall.getByRole('button', { name: /^agent assistant_agent/ }).waitFor();
    await waterfall.getByRole('button', { name: /^agent summary_agent/ }).waitFor();
    const model = waterfall.getByRole('button', { name: /^model call/ }).first();
    await model.press('Enter');
    await waterfall.getByText('tokens').waitFor();
    await waterfall.getByText(/\d+ in, \d+ out/).waitFor();
    await shoot('waterfall');
    await page.getByRole('link', { name: session }).click();
    await page
      .getByRole('region', { name: 'Conversation' })
      .getByText('Summarize: the mesh works.')
      .first()
      .waitFor();
    await shoot('session');
  });

  it('answers an approval by the form of its schema', async () => {
    const { session } = await talk('time_off_app', 'I want 5 days off');
    await open('pending');
    const card = page.getByRole('listitem', { name: 'confirmation of time_off_agent' });
    await card.getByText('5 days off are wanted').waitFor();
    // The values of the tool stand beside the field, and an approver who has entered nothing sends nothing.
    await card.getByText('Values from the tool: approvedDays: 0').waitFor();
    expect(await card.getByLabel('approvedDays').inputValue()).toBe('');
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.locator('input:focus:invalid').waitFor();
    await card.getByLabel('approvedDays').fill('4');
    await shoot('pending');
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('the run goes on').waitFor();
    await card.waitFor({ state: 'detached' });
    const path = `${mesh.gatewayUrl}/apps/time_off_app/users/u1/sessions/${session}`;
    await until(async () => (await (await fetch(path)).text()).includes('You have 4 of 5 days off.'), {
      what: 'the answer of the agent',
    });
  });

  it('takes the proposed values over by one key', async () => {
    const { session } = await talk('time_off_app', 'I want 6 days off');
    await open('pending');
    const card = page
      .getByRole('listitem', { name: 'confirmation of time_off_agent' })
      .filter({ hasText: '6 days off are wanted' });
    await card.getByRole('button', { name: 'Use these values' }).press('Enter');
    expect(await card.getByLabel('approvedDays').inputValue()).toBe('0');
    await card.getByRole('button', { name: 'Approve' }).press('Enter');
    await card.waitFor({ state: 'detached' });
    const path = `${mesh.gatewayUrl}/apps/time_off_app/users/u1/sessions/${session}`;
    await until(async () => (await (await fetch(path)).text()).includes('You have no days off: rejected.'), {
      what: 'the answer of the agent',
    });
  });

  it.each([
    ['run', 'runs/nobody-knows-it', /not among the newest/],
    ['session', 'sessions/weather_app/u1/nobody-knows-it', /does not exist|no session/],
  ])('asks once for a missing %s', async (_what, view, message) => {
    const refused: string[] = [];
    const note = (answer: Response) => void (answer.status() === 404 && refused.push(answer.url()));
    page.on('response', note);
    await open(view);
    await page.getByRole('alert').filter({ hasText: message }).waitFor();
    const asked = new Set(refused).size;
    expect(asked).toBeGreaterThan(0);
    // The view would have asked again meanwhile.
    const nextMap = () => page.waitForResponse((answer) => answer.url().endsWith('/mesh'));
    await nextMap();
    await nextMap();
    page.off('response', note);
    expect(refused).toHaveLength(asked);
    failures.splice(0);
  });

  it('gives a result as JSON to a call that waits for one', async () => {
    const { session } = await talk('reimbursement_app', 'I spent 150 for a chair');
    await open('pending');
    const card = page.getByRole('listitem', { name: 'result of reimbursement_agent' });
    const answer = card.getByRole('button', { name: 'Answer' });
    await card.getByLabel('Answer as JSON').fill('{"status": ');
    await card.getByText('this is no JSON yet').waitFor();
    expect(await answer.isDisabled()).toBe(true);
    await card.getByLabel('Answer as JSON').fill('{"status": "approved"}');
    await answer.click();
    await card.waitFor({ state: 'detached' });
    const path = `${mesh.gatewayUrl}/apps/reimbursement_app/users/u1/sessions/${session}`;
    await until(async () => (await (await fetch(path)).text()).includes('You have 150 back'));
  });

  it('replays a dead letter', async () => {
    const session = await restClient(mesh.gatewayUrl).createSession('weather_app');
    await bury({ app: 'weather_app', user: 'u1', session, message: 'How is the weather in Paris?' });
    await open('dead-letters');
    const letter = page.getByRole('listitem', { name: /^dead letter/ });
    await letter.getByText('the disk was full').waitFor();
    await letter.getByText('written by agent weather_agent').waitFor();
    await letter.getByRole('button', { name: 'Show the message' }).click();
    await letter.getByText('How is the weather in Paris?').waitFor();
    await shoot('dead-letters');
    await letter.getByRole('button', { name: 'Replay' }).click();
    await letter.waitFor({ state: 'detached' });
    await page.getByRole('status').getByRole('link').click();
    await page.getByText('completed', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^tool call get_weather/ }).waitFor();
  });

  it('shows the wait of a run for its session as a bar', async () => {
    const client = restClient(mesh.gatewayUrl);
    const session = await client.createSession('weather_app');
    const runs = ['Rome', 'Oslo', 'Bern'].map((city) =>
      client.events('weather_app', session, `Weather in ${city}?`),
    );
    const ids = (await Promise.all(runs)).map(([event]) => event?.invocationId);
    const waited = await Promise.all(
      ids.map(async (id) => ({
        id,
        text: await (await fetch(`${mesh.gatewayUrl}/mesh/invocations/${id}`)).text(),
      })),
    );
    const { id } = waited.findLast(({ text }) => text.includes('"queue"')) ?? {};
    await open(`runs/${id}`);
    await button(/^wait for the session, /).waitFor();
    await shoot('wait');
  });

  it('shows the attempts of a run and the takeover between them as bars', async () => {
    const client = restClient(mesh.gatewayUrl);
    const session = await client.createSession('weather_app');
    const path = `${mesh.gatewayUrl}/apps/weather_app/users/u1/sessions/${session}`;
    const processOf = (name: string) => mesh.processes.find((each) => each.name === name);
    using tool = pauseProcess(processOf('get_weather')?.pid ?? 0);
    const run = client.events('weather_app', session, 'How is the weather in Paris?');
    await until(async () => (await (await fetch(path)).text()).includes('functionCall'), {
      what: 'the call',
    });
    await processOf('weather_agent')?.kill();
    mesh.processes.push(await mesh.start(sample('weather_agent')));
    tool.resume();
    const [event] = await run;
    await open(`runs/${event?.invocationId}`);
    await button(/^attempt 1, /).waitFor();
    await button(/^takeover by agent_weather_agent-/).waitFor();
    await button(/^attempt 2, /).waitFor();
    await shoot('takeover');
  });

  it('shows on the map how often services use each other', async () => {
    await open('');
    await page.getByRole('heading', { name: 'Map' }).waitFor();
    const flow = page.locator('.flow', { hasText: /customer_agent to agent support_agent: \d+\.\d\/s/ });
    await flow.first().waitFor({ state: 'attached' });
    await shoot('flows');
  });

  it('shows on the map how a replica dies and comes back', async () => {
    await open('');
    const weather = button(/^agent weather_agent: /);
    await weather.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'weather_agent agent' }).waitFor();
    await button(/^agent weather_agent: 1 replica,/).waitFor();
    await shoot('map');
    // A replica that an earlier test killed may be on the list as well.
    const gone = page.getByText(/^[\d:]+ agent_weather_agent-\S+ is gone$/);
    const before = await gone.count();
    await mesh.processes.findLast(({ name }) => name === 'weather_agent')?.kill();
    await button(/^agent weather_agent: 0 replicas,/).waitFor();
    await gone.nth(before).waitFor();
    await shoot('map-gone');
    await mesh.start(sample('weather_agent'));
    await button(/^agent weather_agent: 1 replica,/).waitFor();
    await page
      .getByText(/^[\d:]+ agent_weather_agent-\S+ came up$/)
      .first()
      .waitFor();
  });

  it('talks to an app, and answers its question in the conversation', async () => {
    await open('chat?app=time_off_app');
    await page.getByLabel('User').fill('paula');
    await page.getByLabel('Message').fill('I want 3 days off');
    await page.keyboard.press('Enter');
    await page.getByLabel('approvedDays').fill('2');
    await button('Approve').click();
    await page.getByText('You have 2 of 3 days off.').waitFor();
    await shoot('chat');
    expect(await page.getByText('adk_request').count()).toBe(0);
    await page
      .getByText(/^Look at the last run/)
      .getByRole('link')
      .click();
    await page.getByRole('region', { name: 'Waterfall' }).waitFor();
    expect(await page.getByText('adk_request').count()).toBe(0);
    await page.getByText('· session').getByRole('link').last().click();
    const conversation = page.getByRole('region', { name: 'Conversation' });
    await conversation.getByText(/^\? May request_time_off\(.* be called\? 3 days off are wanted/).waitFor();
    await conversation.getByText(/be called\? 3 days off are wanted.* — approved with/).waitFor();
    expect(await page.getByText('adk_request').count()).toBe(0);
    await shoot('answered');
  });

  it('exports and deletes a user, after the name is typed', async () => {
    await open('users?app=time_off_app&user=paula');
    await button('Show').click();
    await page.getByRole('region', { name: 'Sessions' }).getByRole('link').first().waitFor();
    const download = page.waitForEvent('download');
    await button('Export').click();
    expect((await download).suggestedFilename()).toBe('time_off_app-paula.ndjson');
    const erase = button('Delete all data');
    expect(await erase.isDisabled()).toBe(true);
    await page.getByLabel('Type paula to confirm').fill('paula');
    await shoot('users');
    await erase.click();
    await page.getByText('The user has no session.').waitFor();
  });

  it('has a dark form', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await open('runs');
    await page
      .getByRole('row', { name: /customer_app/ })
      .first()
      .waitFor();
    const back = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const [red = 255] = (/\d+/.exec(String(back)) ?? []).map(Number);
    expect(red).toBeLessThan(60);
    await shoot('dark');
    await page.emulateMedia({ colorScheme: 'light' });
  });
});

/** Puts a run into the dead letters, as a replica of its agent does. */
async function bury(payload: object): Promise<void> {
  const service = 'agent_weather_agent';
  const login = mesh.login(service);
  await using bus = await connectNats({ url: mesh.natsUrl, service, cards: false, ...login });
  await bus.enqueue(
    names.dead('agent', 'weather_agent'),
    {
      ...{
        subject: names.agentRun('weather_agent', 's'),
        payload,
        headers: {},
        attempts: 6,
        replica: service,
      },
      ...{ error: { code: 'unavailable', message: 'the disk was full' }, time: Date.now() },
    },
    { messageId: 'the dead one' },
  );
}
