import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MeshClient } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest, provisionUser } from '@agentmesh/mesh';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { loginVariables } from '../nats-login.ts';
import { type RoundRobin, startRoundRobin } from '../round-robin.ts';
import { serveChat } from './chat.fixture.ts';
import { deskApp } from './desk/src/agent.ts';
import { script as deskScript } from './desk/src/script.fixture.ts';
import { findBrowser, shots } from './web-ui.fixture.ts';

const command = new URL('../../libs/cli/src/main.ts', import.meta.url).pathname;
const slowly = ['I have ', 'saved ', 'the note, ', 'and ', 'that ', 'is all.'];

let files: Awaited<ReturnType<typeof serveChat>>;
let model: ScriptedGemini;
let mesh: LocalMesh;
let proxy: RoundRobin;
let browser: Browser;
let page: Page;
let key: string;
/** The gateways behind the proxy. */
let gateways: LocalMesh['gateway'][];
const failures: string[] = [];

beforeAll(async () => {
  mkdirSync(shots, { recursive: true });
  files = await serveChat();
  vi.stubEnv('MESH_HTTP_AUTH', 'keys');
  vi.stubEnv('MESH_HTTP_CORS_ORIGINS', files.origin);
  model = await startScriptedGemini({
    script: (request) => {
      const [result] = latestFunctionResponses(request);
      if (result?.name === 'save_file') return { chunks: slowly, chunkDelayMs: 700 };
      return deskScript(request);
    },
  });
  mesh = await launchMesh({
    services: [{ manifest: agentManifest(deskApp), folder: 'test/browser/desk' }],
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  gateways = [mesh.gateway, await mesh.start('gateway')];
  proxy = await startRoundRobin(gateways.map(({ address = '' }) => address));
  key = await createKey('page', '--user', 'ann');
  browser = await chromium.launch({
    executablePath: findBrowser(),
    // Chromium has no sandbox for root.
    chromiumSandbox: process.getuid?.() !== 0,
  });
  page = await browser.newPage({ viewport: { width: 900, height: 1_000 } });
  page.setDefaultTimeout(30_000);
  page.on('pageerror', ({ message }) => failures.push(message));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await browser?.close();
  await proxy?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
  files?.[Symbol.dispose]();
});

async function createKey(...words: string[]): Promise<string> {
  const env = {
    ...{ PATH: process.env.PATH, NATS_URL: mesh.natsUrl, ...loginVariables(mesh.login(provisionUser)) },
    REDIS_URL: mesh.redisUrlOf(provisionUser),
  };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [command, 'keys', 'create', ...words, '--json'],
    { env },
  );
  return JSON.parse(stdout).key;
}

async function connect(withKey: string, { from = files.origin, to = proxy.url } = {}) {
  await page.goto(from);
  await page.getByLabel('Gateway').fill(to);
  await page.getByLabel('App').fill('desk_app');
  await page.getByLabel('API key').fill(withKey);
  await page.getByRole('button', { name: 'Connect' }).click();
}

async function say(text: string) {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

const see = (kind: string, text: string) => page.locator(`.${kind}`, { hasText: text }).waitFor();
const shoot = (name: string) => page.screenshot({ path: join(shots, `chat-${name}.png`) });

/** Returns the numbers of the events on the page, in their order. */
async function numbersOnPage(): Promise<number[]> {
  const numbers = await page
    .locator('[data-seq]')
    .evaluateAll((boxes) => boxes.map((box) => Number(box.getAttribute('data-seq'))));
  return [...numbers];
}

it('a page of another origin that has no key is told so', async () => {
  await connect('');
  await page.locator('.error').waitFor();
  expect(await page.locator('.error').textContent()).toMatch(/key|credential/i);
});

it.each(['amk_wrong', 'amk_…'])('a page with a wrong key is told so: %s', async (wrong) => {
  await connect(wrong);
  await page.locator('.error').waitFor();
  expect(await page.locator('.error').textContent()).toMatch(/(?:API key|token) .*Check the API key\.$/);
});

it('a page whose origin the gateway does not allow is told so, and one with a wrong address that nothing answers', async () => {
  const stranger = await serveChat();
  onTestFinished(() => stranger[Symbol.dispose]());
  await connect(key, { from: stranger.origin });
  await see('error', 'keeps its answer from this page');
  await see('error', `Name ${stranger.origin} in MESH_HTTP_CORS_ORIGINS`);
  await connect(key, { to: 'http://127.0.0.1:1' });
  await see('error', 'No server answers at http://127.0.0.1:1.');
});

it('an answer goes on at another gateway when its gateway is killed', async () => {
  await connect(key);
  await page.getByText('connected', { exact: true }).waitFor();
  await say('Save note.txt');
  await see('tool', 'save_file(');
  await see('agent', 'I have saved');
  const { gateway: address } = proxy.requests.findLast(({ line }) => line.startsWith('POST /run_sse')) ?? {};
  const serving = gateways.find((each) => each.address === address);
  expect(serving).toBeDefined();
  await serving?.kill();
  await page.getByText('reconnecting …').waitFor();
  await shoot('1-reconnecting');
  await page.getByText('connected again').waitFor();
  await see('agent', slowly.join(''));
  await shoot('2-answer');
  // One answer, and no piece of it beside it.
  expect(await page.locator('.agent').count()).toBe(1);
  expect(await numbersOnPage()).toEqual([2, 3, 4]);
  const left = gateways.find((each) => each !== serving)?.address ?? '';
  const reader = new MeshClient({ url: left, token: key });
  const [session] = await reader.listSessions({ app: 'desk_app', user: 'ann' }, { limit: 1 });
  const log = await reader.events({ app: 'desk_app', user: 'ann', session: session?.id ?? '' });
  expect(log.events.slice(1).map(({ seq }) => seq)).toEqual([2, 3, 4]);
});

it('a person confirms a call', async () => {
  await say('Order lunch');
  await see('question', 'order_lunch({"people":4})');
  await shoot('3-question');
  await page.getByRole('button', { name: 'Yes' }).click();
  await see('agent', 'Lunch is ordered.');
  await shoot('4-answered');
  const numbers = await numbersOnPage();
  expect(new Set(numbers.slice(-3)).size).toBe(3);
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  expect(failures).toEqual([]);
});

it('a question stands on the page once, also when its stream is cut behind it and read again', async () => {
  let cuts = 0;
  await page.route(/\/run_sse$/, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    const question = text.indexOf('adk_request_confirmation');
    if (question < 0) return await route.fulfill({ response, body: text });
    cuts += 1;
    // The first time the number of the question is missing, the second time all that follows it.
    const end = cuts === 1 ? text.indexOf('id:', question) : text.indexOf('data:', question);
    return await route.fulfill({ response, body: text.slice(0, end) });
  });
  for (const text of ['Order lunch', 'Order lunch again']) {
    await connect(key);
    await page.getByText('connected', { exact: true }).waitFor();
    await say(text);
    await see('question', 'order_lunch');
    await page.getByRole('button', { name: 'Yes' }).click();
    await see('agent', 'Lunch is ordered.');
    expect(await page.locator('.question').count()).toBe(1);
    const numbers = await numbersOnPage();
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(new Set(numbers).size).toBe(numbers.length);
  }
  expect(cuts).toBe(2);
  await page.unroute(/\/run_sse$/);
});

it('a new session begins with an empty page, and each tab has its own', async () => {
  await connect(key);
  await page.getByText('connected', { exact: true }).waitFor();
  await say('Order lunch');
  await see('question', 'order_lunch');
  const other = await browser.newPage();
  onTestFinished(() => other.close());
  await other.goto(files.origin);
  await other.getByLabel('Gateway').fill(proxy.url);
  await other.getByLabel('App').fill('desk_app');
  await other.getByLabel('API key').fill(key);
  await other.getByRole('button', { name: 'Connect' }).click();
  await other.getByText('connected', { exact: true }).waitFor();
  expect(await other.locator('.question').count()).toBe(0);
  // Again, without loading the page again.
  await page.getByRole('button', { name: 'Connect' }).click();
  await expect.poll(() => page.locator('#log > *').count()).toBe(0);
  await say('Order lunch');
  await see('question', 'order_lunch');
  expect(await page.locator('.question').count()).toBe(1);
  await page.getByRole('button', { name: 'Yes' }).click();
  await see('agent', 'Lunch is ordered.');
  expect(failures).toEqual([]);
});
