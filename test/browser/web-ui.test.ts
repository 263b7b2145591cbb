import { readFile } from 'node:fs/promises';
import type { LocalMesh } from '@agentmesh/deploy/launch';
import { until } from '@agentmesh/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startStage } from './stage.fixture.ts';
import { openWebUi, type WebUi } from './web-ui.fixture.ts';

let mesh: LocalMesh;
let ui: WebUi;

beforeAll(async () => {
  mesh = await startStage();
  ui = await openWebUi(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await ui?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
});
// Each test asks for the answers of all its requests.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await ui.shoot(`failed ${task.name}`);
  expect(ui.failures.splice(0)).toEqual([]);
});

/** The views of an event, by the names of their icons. */
const eventViews = [
  ...['info', 'account_tree', 'input', 'output', 'analytics', 'published_with_changes', 'data_object'],
];

const button = (name: string | RegExp) => ui.page.getByRole('button', { name, exact: true });
const chip = (name: string | RegExp) => ui.page.locator('app-chat-panel').getByRole('button', { name });
const panel = (name: string) => ui.page.getByRole('tabpanel', { name });
const openTab = (name: string) => ui.page.getByRole('tab', { name }).click();
const icon = (name: string) => ui.page.locator('mat-icon', { hasText: new RegExp(`^${name}$`) });
/** Presses a button of the panel of an event or a span, by the name of its icon. */
const openView = (name: string) =>
  panel('Info')
    .locator('button', { has: icon(name) })
    .click();
/** Expects a value that the page has after a while. */
const eventually = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000 });
const colourOf = (node: string) =>
  panel('Info')
    .locator('g.node', { has: ui.page.locator('text', { hasText: node }) })
    .locator('path')
    .first()
    .getAttribute('fill');

describe("ADK's web UI on the gateway", () => {
  it('is the answer of / to a browser, and lists the apps', async () => {
    await ui.page.goto(mesh.gatewayUrl);
    await button('Select an app').click();
    for (const app of ['customer_app', 'desk_app', 'reimbursement_app', 'time_off_app']) {
      await button(app).waitFor();
    }
    await ui.shoot('01-apps');
    await button('customer_app').click();
    await ui.page.waitForURL(/\/dev-ui\/\?app=customer_app/);
  });

  it('shows a chat with a tool call and a transfer, and the parts of an event in the graph', async () => {
    await ui.open({ app: 'customer_app' });
    await ui.say('My account is locked and this is urgent!');
    await ui.see('Support here. I have seen that it is urgent');
    await chip('customer_agent → support_agent').waitFor();
    await chip(/^check_urgency\(/).click();
    await openView('account_tree');
    await eventually(() => colourOf('check_urgency')).not.toBe(await colourOf('support_agent'));
    await ui.shoot('02-graph');
    await openView('input');
    await eventually(() => panel('Info').innerText()).toContain('holds answers of models, not the prompts');
    await openView('output');
    await expect
      .poll(() => panel('Info').innerText())
      .toContain('"My account is locked and this is urgent!"');
    await ui.shoot('03-response');
  });

  it('shows the spans of a turn with their times', async () => {
    await ui.page.getByRole('radio', { name: 'Traces' }).click();
    const traces = ui.page.locator('app-trace-tree');
    await traces.getByText('call_llm').nth(1).waitFor();
    const text = (await traces.innerText()).replaceAll('\n', ' ');
    expect(text).toMatch(/Total latency: [1-9][\d.]*m?s/);
    expect(text).toMatch(/customer_agent .*call_llm .*check_urgency .*support_agent .*call_llm /);
    await traces.getByText('call_llm').first().click();
    await eventually(() => panel('Info').innerText()).toContain('Span ID');
    await ui.shoot('04-traces');
    await ui.page.getByRole('radio', { name: 'Events' }).click();
  });

  it('streams an answer word by word', async () => {
    await ui.open({ app: 'desk_app' });
    await button('More options').click();
    await ui.page.getByRole('menuitem', { name: 'Streaming' }).click();
    await ui.page.keyboard.press('Escape');
    await ui.say('Tell me a story');
    await ui.see(/^\s*Once upon(?: a)?\s*$/);
    await ui.see('Once upon a time.');
    expect(ui.runs.at(-1)).toMatchObject({ streaming: true });
    await ui.shoot('05-streaming');
  });

  it('shows files with and without a folder in their names, and the state', async () => {
    await ui.say('save notes/plan.txt');
    await ui.see('I have saved notes/plan.txt.');
    await ui.say('save plain.txt');
    await ui.see('I have saved plain.txt.');
    await openTab('Artifacts');
    for (const name of ['notes/plan.txt', 'plain.txt']) {
      await panel('Artifacts').getByRole('button', { name, exact: true }).waitFor();
      await panel('Artifacts').getByText(`This is ${name}.`).waitFor();
    }
    await ui.shoot('06-artifacts');
    await openTab('State');
    await eventually(() => panel('State').innerText()).toMatch(/last_file\s*:\s*"plain.txt"/);
    await ui.shoot('07-state');
    await openTab('Info');
  });

  it('gives a file back by its button', async () => {
    await openTab('Artifacts');
    const download = ui.page.waitForEvent('download');
    await panel('Artifacts')
      .locator('button', { has: icon('file_download') })
      .last()
      .click();
    const file = await download;
    expect(file.suggestedFilename()).toContain('plain.txt');
    expect(await readFile(await file.path(), 'utf8')).toBe('This is plain.txt.');
    await openTab('Info');
  });

  it('has nothing to show in the tab of evaluations, and each view of an event', async () => {
    const tabs = await ui.page.getByRole('tab').allInnerTexts();
    expect(tabs).toEqual(['Info', 'State', 'Artifacts', 'Evals']);
    await openTab('Evals');
    await panel('Evals')
      .getByText(/eval set/i)
      .first()
      .waitFor();
    await ui.shoot('07-evals');
    await openTab('Info');
    await chip(/^save_file/)
      .first()
      .click();
    const views = await panel('Info').locator('button mat-icon').allInnerTexts();
    expect(views).toEqual(expect.arrayContaining(eventViews));
    for (const view of eventViews) {
      await openView(view);
      await ui.shoot(`07-view-${view}`);
    }
  });

  it('sends an uploaded file to the model', async () => {
    const buffer = Buffer.from(dot, 'base64');
    await ui.page
      .locator('input[type=file]')
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer });
    await ui.say('What is this?');
    await ui.see(`I got ${buffer.length} bytes of image/png.`);
    await ui.page.locator('app-chat-panel').getByRole('img', { name: 'image' }).waitFor();
    await ui.shoot('08-upload');
  });

  it('takes a no and a yes in the dialog of a confirmation', async () => {
    await ui.say('order lunch');
    // The page does not scroll to the dialog by itself.
    await button('Submit').scrollIntoViewIfNeeded();
    await ui.shoot('09-confirmation');
    await button('Submit').click();
    await ui.see('Lunch is not ordered: the call of order_lunch was rejected.');
    await ui.say('order lunch again');
    await ui.page.getByRole('checkbox', { name: 'Confirmed' }).check();
    await button('Submit').click();
    await ui.see('Lunch is ordered.');
    await ui.shoot('10-confirmed');
  });

  it('takes a no and a yes where the question has a form, which the page does not show', async () => {
    await ui.open({ app: 'time_off_app' });
    await ui.say('I want 5 days off');
    await button('Submit').click();
    await ui.see('You have no days off: rejected.');
    await ui.say('I want 6 days off');
    await ui.page.getByRole('checkbox', { name: 'Confirmed' }).check();
    await ui.shoot('11-form');
    await button('Submit').click();
    // The page sends the arguments of the call, so the number that the tool proposed counts: 0 days.
    await eventually(() => ui.page.getByText('You have no days off: rejected.').count()).toBe(2);
    await ui.shoot('12-form-answered');
  });

  it('takes the approval of a call that waits, also after a reload', async () => {
    await ui.open({ app: 'reimbursement_app' });
    await ui.say('I spent 150 for a chair');
    await ui.see(/Your manager has to approve this first/);
    await ui.page.reload();
    const answer = ui.page.getByPlaceholder('Enter your response...');
    await answer.fill('{"status":"approved"}');
    await ui.shoot('13-approval');
    await answer.press('Enter');
    await ui.see(/You have 150 back for a chair/);
    await ui.shoot('14-approved');
  });

  it('finds a session again, with its date, renames it and deletes it', async () => {
    const { href } = new URL(ui.page.url());
    await ui.page.reload();
    await ui.see(/You have 150 back for a chair/);
    expect(ui.page.url()).toBe(href);
    await button('New Session').click();
    await ui.say('I spent 20 for tea');
    await ui.see(/You have 20 back for tea/);
    await button('I spent 20 for tea').click();
    const drawer = ui.page.locator('app-session-tab');
    for (const name of ['I spent 150 for a chair', 'I spent 20 for tea']) {
      const row = drawer.locator('.session-item', { hasText: name });
      const [date = ''] = /\d+\/\d+\/\d{4}, [\d:]+ [AP]M/.exec(await row.innerText()) ?? [];
      expect(Math.abs(Date.parse(`${date} UTC`) - Date.now())).toBeLessThan(120_000);
    }
    await ui.shoot('15-sessions');
    await button('Edit').click();
    await ui.page.getByRole('textbox').first().fill('Tea');
    await button('Save').click();
    // The page fills its list again only when it is loaded.
    await ui.page.reload();
    await button('Tea').click();
    await drawer.locator('.session-item', { hasText: 'Tea' }).waitFor();
    await ui.shoot('16-renamed');
    await button('Delete').click();
    await ui.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    // The page goes on with the next session.
    await ui.see(/You have 150 back for a chair/);
    await button('I spent 150 for a chair').click();
    await drawer.locator('.session-item', { hasText: 'I spent 150' }).waitFor();
    expect(await drawer.locator('.session-item').count()).toBe(1);
    await ui.shoot('17-deleted');
  });

  it('exports a session, and imports it as another one with its events', async () => {
    const download = ui.page.waitForEvent('download');
    await button('Export').click();
    const file = await (await download).path();
    const chooser = ui.page.waitForEvent('filechooser');
    await button('Import').click();
    const before = new URL(ui.page.url()).searchParams.get('session');
    await (await chooser).setFiles(file);
    await ui.page.waitForURL((url) => url.searchParams.get('session') !== before);
    await ui.see(/You have 150 back for a chair/);
    await ui.shoot('18-imported');
    const imported = new URL(ui.page.url()).searchParams.get('session');
    const [old, copy] = await Promise.all([before, imported].map(eventsOf));
    expect(copy).toEqual(old);
  });
});

it('the stop button cancels the run, where the gateway is configured so', async () => {
  // The launcher gives a gateway the variables that are set when it starts.
  vi.stubEnv('MESH_STOP_ON_DISCONNECT', 'true');
  const { address = '' } = await mesh.start('gateway');
  vi.unstubAllEnvs();
  await using other = await openWebUi(address, { keepsShots: true });
  await other.open({ app: 'desk_app', userId: 'user' });
  await other.say('Tell me a long story');
  await other.page.getByRole('radio', { name: 'Events' }).waitFor();
  const stop = other.page.locator('button', { has: other.page.locator('mat-icon', { hasText: /^stop$/ }) });
  await stop.click();
  const session = new URL(other.page.url()).searchParams.get('session');
  const path = `${address}/apps/desk_app/users/user/sessions/${session}`;
  const state = await until(async () => {
    const { events } = (await (await fetch(path)).json()) as { events: { invocationId: string }[] };
    const invocation = await fetch(`${path}/invocations/${events[0]?.invocationId}`);
    const { status, cancelled } = (await invocation.json()) as { status?: string; cancelled?: string };
    return status === undefined || status === 'running' ? undefined : { status, cancelled };
  });
  expect(state).toEqual({ status: 'cancelled', cancelled: 'its client has gone away' });
  await other.shoot('19-stopped');
  // The page does not catch that it has stopped the reading itself. Chromium words this by where the reading stood,
  // and says nothing when the page was not reading.
  const isOfStop = (failure: string) => /^error of the page: (signal is|.* was) aborted/.test(failure);
  expect(other.failures.filter((failure) => !isOfStop(failure))).toEqual([]);
  expect(other.failures.length).toBeLessThanOrEqual(1);
});

/** Returns the contents of the events of a session. */
async function eventsOf(session: string | null): Promise<unknown[]> {
  const path = `/apps/reimbursement_app/users/user/sessions/${session}`;
  const answer = await fetch(`${mesh.gatewayUrl}${path}`);
  const { events } = (await answer.json()) as { events: { content?: unknown }[] };
  return events.map(({ content }) => content);
}

/** A picture of one pixel. */
const dot =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
