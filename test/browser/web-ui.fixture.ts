import { accessSync, constants, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page, type Request } from 'playwright-core';

const programs = ['chromium', 'chromium-browser', 'google-chrome'];

/** The folder of the screenshots of the last test. */
export const shots = join(tmpdir(), 'agentmesh-browser');

/** The files that ADK's page asks for and its package does not have. */
const notInThePackage = /^\/dev-ui\/prism-(?:dark|light)\.css$/;

/** ADK's web UI in a browser. */
export interface WebUi extends AsyncDisposable {
  readonly page: Page;
  /** The requests to the gateway that were answered with 4xx or 5xx, or not at all, and errors of the page. */
  readonly failures: string[];
  /** The bodies of the requests to `/run_sse`. */
  readonly runs: Record<string, unknown>[];
  /** Opens the page of an app, or of a session of it. */
  open(query: Record<string, string>): Promise<void>;
  /** Sends a message in the chat. */
  say(text: string): Promise<void>;
  /** Waits for a text in the chat. */
  see(text: string | RegExp): Promise<void>;
  /** Keeps a screenshot. */
  shoot(name: string): Promise<void>;
}

/** Opens a browser. Hosts other than the gateway, which have the fonts of the page, are not reached. */
export async function openWebUi(gatewayUrl: string, { keepsShots = false } = {}): Promise<WebUi> {
  if (!keepsShots) rmSync(shots, { recursive: true, force: true });
  mkdirSync(shots, { recursive: true });
  const browser: Browser = await chromium.launch({
    executablePath: findBrowser(),
    // Chromium has no sandbox for root.
    chromiumSandbox: process.getuid?.() !== 0,
  });
  const context = await browser.newContext({
    ...{ viewport: { width: 1_500, height: 900 }, locale: 'en-US', timezoneId: 'UTC' },
  });
  context.setDefaultTimeout(30_000);
  const isOurs = (url: string) => url.startsWith(`${gatewayUrl}/`);
  await context.route(
    ({ href }) => !isOurs(href),
    (route) => route.abort(),
  );
  const page = await context.newPage();
  const failures: string[] = [];
  const runs: Record<string, unknown>[] = [];
  page.on('pageerror', ({ message }) => failures.push(`error of the page: ${message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/run_sse') runs.push(request.postDataJSON());
  });
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() < 400 || notInThePackage.test(pathname)) return;
    failures.push(`${response.status()} ${describe(response.request())}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // A page that is left ends its requests.
    if (!isOurs(request.url()) || reason === 'net::ERR_ABORTED') return;
    failures.push(`${reason} ${describe(request)}`);
  });
  const chat = page.getByPlaceholder('Type a message...');
  return {
    ...{ page, failures, runs },
    async open(query) {
      await page.goto(`${gatewayUrl}/dev-ui/?${new URLSearchParams(query)}`);
      await chat.waitFor();
    },
    async say(text) {
      await chat.fill(text);
      await chat.press('Enter');
    },
    async see(text) {
      await page.locator('app-chat-panel').getByText(text).last().waitFor();
    },
    async shoot(name) {
      await page.screenshot({ path: join(shots, `${name}.png`) });
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

function describe(request: Request): string {
  const { pathname } = new URL(request.url());
  return `${request.method()} ${pathname}`;
}

/** Finds a browser on the path. @throws Error that says what to install */
export function findBrowser(): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const found = folders.flatMap((folder) => programs.map((name) => join(folder, name))).find(isProgram);
  if (found !== undefined) return found;
  throw new Error('there is no browser on the PATH; install one (Debian: apt-get install -y chromium)');
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
