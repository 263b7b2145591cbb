import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest } from '@agentmesh/mesh';
import { type Event, versionKey } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  latestUserText,
  type ScriptedGemini,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';
import { newDesk, oldDesk } from './versions/definitions.ts';

type Version = 'old' | 'new';
const numberOf: Record<Version, string> = { old: '1.0.0', new: '2.0.0' };
const manifestOf = { old: oldDesk, new: newDesk };
const sampleOf = (version: Version): Sample => ({
  manifest: agentManifest(new App({ name: 'desk_app', rootAgent: manifestOf[version] })),
  folder: `test/scenarios/versions/${version}`,
});

const folder = mkdtempSync(join(tmpdir(), 'agentmesh-versions-'));
const effectsFile = join(folder, 'effects');
let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** True while the model holds back its answers after a tool. */
let isHeld = false;
let asked = 0;
const up = new Map<Version, LocalMesh['processes'][number]>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      const [last] = latestFunctionResponses(request);
      if (!last) return { calls: [{ name: latestUserText(request), args: {} }] };
      asked += 1;
      const by = versionNamed(last.response?.by) ?? 'nobody';
      return isHeld ? { hang: true } : { text: `done by ${by}` };
    },
  });
  mesh = await launchMesh({
    services: [sampleOf('old')],
    ackWaitMs: 1_000,
    env: { MODEL_URL: model.url, EFFECTS_FILE: effectsFile, MESH_VERSION: numberOf.old },
  });
  const [first] = mesh.processes;
  if (first) up.set('old', first);
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(version: Version): Promise<void> {
  if (!up.has(version))
    up.set(version, await mesh.start(sampleOf(version), { MESH_VERSION: numberOf[version] }));
}

async function kill(version: Version): Promise<void> {
  await up.get(version)?.kill();
  up.delete(version);
}

/** Returns the call id and the version of each effect of a tool. */
const effects = () => readFileSync(effectsFile, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);
const versionNamed = (number: unknown) => Object.entries(numberOf).find(([, each]) => each === number)?.[0];
const versionsIn = (events: readonly Event[]) =>
  events.map(({ customMetadata }) => versionNamed(customMetadata?.[versionKey]));

async function logOf(session: string): Promise<Event[]> {
  const response = await client.send('GET', `/apps/desk_app/users/u1/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

/** Checks that each message has one answer, and each call one response. */
function assertWhole(events: readonly Event[], turns: number): void {
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const byRun = Map.groupBy(events, ({ invocationId }) => invocationId);
  expect(byRun.size).toBe(turns);
  for (const run of byRun.values()) {
    const [first, ...rest] = run;
    expect(first?.author).toBe('user');
    const answers = rest.filter((event) => event.content?.parts?.some(({ text }) => text !== undefined));
    expect(answers).toEqual([rest.at(-1)]);
    const ids = rest.flatMap((event) => getFunctionCalls(event).map(({ id }) => id));
    expect(rest.flatMap((event) => getFunctionResponses(event).map(({ id }) => id))).toEqual(ids);
  }
}

describe('replicas of two neighbouring versions in one session', () => {
  type Round = [from: Version, to: Version, tool: string, killedAt: 'model' | 'tool', answer: string];

  /** Sends a message to one version, and kills it while the model answers after the tool, or in the tool. */
  async function pass(session: string, [from, to, tool, killedAt, answer]: Round): Promise<void> {
    const label = `${from} to ${to}, ${tool}, killed at the ${killedAt}`;
    const isAtModel = killedAt === 'model';
    await start(from);
    await kill(to);
    isHeld = isAtModel;
    const before = { asked, effects: effects().length };
    const running = client.events('desk_app', session, tool);
    await until(() => (isHeld ? asked > before.asked : effects().length > before.effects), { what: label });
    // The start of a process takes longer than the tool.
    if (isAtModel) await start(to);
    await kill(from);
    await start(to);
    isHeld = false;
    const events = await running;
    expect(lastText(events), label).toBe(answer);
    expect(versionsIn(events), label).toEqual([from, isAtModel ? from : to, to]);
  }

  it('continue the runs of each other when either is killed, between steps and in a tool', async () => {
    const session = await client.createSession('desk_app');
    const rounds: Round[] = [
      ['old', 'new', 'note', 'model', 'done by old'],
      ['new', 'old', 'note', 'model', 'done by new'],
      ['old', 'new', 'note', 'tool', 'done by new'],
      ['new', 'old', 'note', 'tool', 'done by old'],
      // The old version reads the result of a tool that it does not have.
      ['new', 'old', 'look_up', 'model', 'done by new'],
      // It cannot make the call itself; the model is told so.
      ['new', 'old', 'look_up', 'tool', 'done by nobody'],
      ['old', 'new', 'note', 'model', 'done by old'],
    ];
    for (const round of rounds) await pass(session, round);
    const events = await logOf(session);
    assertWhole(events, rounds.length);
    // A call whose result was committed has one effect; the call of a killed process has one more, if it was made again.
    const count = Map.groupBy(effects(), (line) => line.split(' ').slice(0, 2).join(' '));
    expect([...count.values()].map((lines) => lines.length)).toEqual([1, 1, 2, 2, 1, 1, 1]);
    // A new process reads all of it: each version understands the journal of the other.
    for (const version of ['old', 'new'] as const) {
      await start(version);
      await kill(version === 'old' ? 'new' : 'old');
      expect(lastText(await client.events('desk_app', session, 'note'))).toBe(`done by ${version}`);
    }
    assertWhole(await logOf(session), rounds.length + 2);
  }, 240_000);

  const confirm = async (session: string, question: Event) => {
    const [call] = getFunctionCalls(question);
    const response = { confirmed: true };
    const parts = [{ functionResponse: { id: call?.id, name: call?.name, response } }];
    const body = {
      appName: 'desk_app',
      userId: 'u1',
      sessionId: session,
      newMessage: { role: 'user', parts },
    };
    const answer = await client.send('POST', '/run', body);
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Event[];
  };
  const questionIn = (events: readonly Event[]): Event => {
    const found = events.find(({ longRunningToolIds = [] }) => longRunningToolIds.length > 0);
    if (!found) throw new Error('no question');
    return found;
  };

  it.each([
    ['old', 'new'],
    ['new', 'old'],
  ] as const)(
    'a question of the %s version is answered to the %s one',
    async (from, to) => {
      await start(from);
      await kill(to);
      const session = await client.createSession('desk_app');
      const question = questionIn(await client.events('desk_app', session, 'pay'));
      await start(to);
      await kill(from);
      const events = await confirm(session, question);
      expect(lastText(events)).toBe(`done by ${to}`);
      expect(new Set(versionsIn(events))).toEqual(new Set([to]));
    },
    60_000,
  );
});
