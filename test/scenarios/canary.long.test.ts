import { setTimeout as delay } from 'node:timers/promises';
import { type Canaries, openCanaries, openWorkStreams } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { provisionUser } from '@agentmesh/mesh';
import { attemptOf, type Event, versionKey } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

/** The services of each app: a transfer, an agent that asks another one, and a tool in another process. */
const apps: Record<string, { message: string; services: string[] }> = {
  customer_app: { message: 'It is urgent', services: ['customer_agent', 'support_agent'] },
  assistant_app: { message: 'Sum it up', services: ['assistant_agent', 'summary_agent'] },
  weather_app: { message: 'The weather in Paris?', services: ['weather_agent', 'get_weather'] },
};
const argsOf: Record<string, Record<string, unknown>> = {
  check_urgency: { request: 'urgent' },
  summary_agent: { request: 'a text' },
  get_weather: { city: 'Paris' },
};
const needed = Object.values(apps).flatMap(({ services }) => services);
const chosen = samples.filter(({ manifest }) => needed.includes(manifest.name));
const agents = needed.filter((name) => name !== 'get_weather');
/** The agents that take runs; the summary is asked for. */
const withRuns = agents.filter((name) => name !== 'summary_agent');
const clients = 8;

let model: ScriptedGemini;
let mesh: LocalMesh;
let canaries: Canaries;
/** Time that the model takes for an answer, in ms. */
let thinksMs = 30;
/** The health ports of the processes that are up. */
const ports: { service: string; port: number }[] = [];

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (asked) => {
      const tool = asked.tools.find(({ name = '' }) => name in argsOf)?.name;
      if (tool !== undefined && latestFunctionResponses(asked).length === 0)
        return { calls: [{ name: tool, args: argsOf[tool] ?? {} }], delayMs: thinksMs };
      return { text: 'done', delayMs: thinksMs };
    },
  });
  mesh = await launchMesh({
    services: chosen,
    ackWaitMs: 1_500,
    env: {
      ...{ GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
      ...{ MESH_VERSION: '1.0.0', MESH_HEALTH_PORT: '0' },
    },
    onLine(service, line) {
      if (line.includes('health port is open')) ports.push({ service, port: JSON.parse(line).port });
    },
  });
  canaries = await openCanaries({ url: mesh.natsUrl, ...mesh.login(provisionUser) });
}, 60_000);
afterAll(async () => {
  await canaries?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

interface Load {
  failures: string[];
  runs: { app: string; ms: number; versions: Set<unknown>; isTakenOver: boolean }[];
}

/** Sends one run after the other in new sessions until it is over. */
async function client(load: Load, isOver: () => boolean): Promise<void> {
  const { createSession, events } = restClient(mesh.gatewayUrl);
  for (let turn = 0; !isOver(); turn += 1) {
    const [app = '', { message } = { message: '' }] = Object.entries(apps)[turn % 3] ?? [];
    const startedAt = performance.now();
    try {
      const answers = await events(app, await createSession(app), message);
      const failed = answers.find(({ errorCode }) => errorCode !== undefined);
      if (failed) throw new Error(`${app}: ${failed.errorCode} ${failed.errorMessage}`);
      if (answers.length === 0) throw new Error(`${app}: a run without events`);
      const isTakenOver = answers.some((event) => (attemptOf(event)?.number ?? 1) > 1);
      load.runs.push({ app, ms: performance.now() - startedAt, versions: versionsIn(answers), isTakenOver });
    } catch (error) {
      load.failures.push(String(error));
    }
  }
}

/** Returns the versions of the agents that take runs: any version of an agent answers asks. */
function versionsIn(events: readonly Event[]): Set<unknown> {
  const ofRuns = events.filter(({ author = '' }) => withRuns.includes(author));
  return new Set(ofRuns.map(({ customMetadata }) => customMetadata?.[versionKey]));
}

const quantile = (times: readonly number[], share: number) =>
  Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN);

/** Returns the runs of an agent that ended, by the version of its replicas, as their metrics say. */
async function endedRuns(agent: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { port } of ports.filter(({ service }) => service === agent)) {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const [, version = ''] = /^target_info\{.*service_version="([^"]*)"/m.exec(page) ?? [];
    const counts = page.matchAll(/^agentmesh_work_duration_count\{.*kind="run".*\} (\d+)/gm);
    found[version] = [...counts].reduce((sum, [, count]) => sum + Number(count), found[version] ?? 0);
  }
  return found;
}

interface ShownCanary {
  version: string;
  versions: { version: string; replicas: number; runs: number; failed: number }[];
}

/** Returns the canary of an agent, as the gateway's map of the mesh shows it. */
async function shownCanary(agent: string): Promise<ShownCanary | undefined> {
  const { agents } = (await (await fetch(`${mesh.gatewayUrl}/mesh`)).json()) as {
    agents: { name: string; canary?: ShownCanary }[];
  };
  return agents.find(({ name }) => name === agent)?.canary;
}

const setAll = (percent: number) =>
  Promise.all(agents.map((agent) => canaries.put({ agent, version: '2.0.0', percent, pinned: false })));

it('a canary of all agents gets its share under load, survives its death, is stopped, and becomes the version: no run fails', async () => {
  const load: Load = { failures: [], runs: [] };
  let isOver = false;
  const working = Array.from({ length: clients }, () => client(load, () => isOver));
  const next = async (count: number) => {
    const from = load.runs.length;
    await until(() => load.runs.length >= from + count, { what: `${count} runs`, timeoutMs: 90_000 });
    return load.runs.slice(from, from + count);
  };
  const shareOf = (runs: Load['runs']) =>
    runs.filter(({ versions }) => versions.has('2.0.0')).length / runs.length;
  const report = (what: string, runs: Load['runs']) =>
    console.log(
      `canary, ${what}: ${runs.length} runs, ${load.failures.length} failed, ${(100 * shareOf(runs)).toFixed(1)} % by the new version, ` +
        `p50 ${quantile(
          runs.map(({ ms }) => ms),
          0.5,
        )} ms, p99 ${quantile(
          runs.map(({ ms }) => ms),
          0.99,
        )} ms`,
    );
  try {
    report('before', await next(200));

    const old = mesh.processes.filter(({ name }) => agents.includes(name));
    const sampleOf = (name: string) => chosen.find(({ manifest }) => manifest.name === name) as Sample;
    await setAll(10);
    const canary = await Promise.all(
      old.map(({ name }) => mesh.start(sampleOf(name), { MESH_VERSION: '2.0.0' })),
    );
    await delay(3_000);
    const tenth = await next(600);
    report('10 %', tenth);
    // Five standard deviations of 600 draws.
    expect(Math.abs(shareOf(tenth) - 0.1)).toBeLessThan(0.061);
    // One session is in the shares of all agents or of none.
    const mixed = tenth.filter(({ versions }) => versions.size > 1).length;
    console.log(`canary, runs with both versions: ${mixed}`);
    // A version that misses two looks on a busy machine counts as gone, and the other one takes its runs meanwhile.
    expect(mixed).toBeLessThan(12);

    const listed = await canaries.list();
    expect(listed.map(({ agent }) => agent)).toEqual([...agents].sort());
    for (const { replicas } of listed.filter(({ agent }) => withRuns.includes(agent))) {
      const worked = replicas.map(({ version, load: counts }) => [version, (counts?.work ?? 0) > 0]);
      expect(worked.sort()).toEqual([
        ['1.0.0', true],
        ['2.0.0', true],
      ]);
    }

    const byVersion = await endedRuns('weather_agent');
    console.log(`canary, ended runs of weather_agent by version: ${JSON.stringify(byVersion)}`);
    const { '1.0.0': ofOld = 0, '2.0.0': ofNew = 0 } = byVersion;
    expect(ofNew).toBeGreaterThan(0);
    expect(ofOld).toBeGreaterThan(3 * ofNew);

    // The agent that is only asked has no runs; its asks are shared by chance.
    const [asksOfOld, asksOfNew] = (await shownCanary('summary_agent'))?.versions ?? [];
    const askShare = (asksOfNew?.runs ?? 0) / ((asksOfNew?.runs ?? 0) + (asksOfOld?.runs ?? 0));
    console.log(
      `canary, asks: ${JSON.stringify([asksOfOld, asksOfNew])}, ${(100 * askShare).toFixed(1)} % by the new version`,
    );
    expect([asksOfOld?.failed, asksOfNew?.failed]).toEqual([0, 0]);
    // Five standard deviations of 200 draws.
    expect(Math.abs(askShare - 0.1)).toBeLessThan(0.107);
    expect(asksOfNew?.runs).toBeGreaterThan(0);

    await using streams = await openWorkStreams({ url: mesh.natsUrl, ...mesh.login(provisionUser) });
    const atWork = async () =>
      (await streams.list()).some((queue) => queue.consumer.endsWith('=7Ecanary') && queue.ackPending > 0);
    // The replicas die while the model thinks, with several runs in their hands.
    await setAll(50);
    thinksMs = 1_000;
    await delay(1_000);
    await until(atWork, { what: 'a run at work in the canary', timeoutMs: 60_000 });
    await delay(200);
    await Promise.all(canary.map((each) => each.kill()));
    thinksMs = 30;
    const orphaned = await next(200);
    report('all replicas of the canary are killed', orphaned);
    expect(shareOf(orphaned.slice(-50))).toBe(0);
    // The figures of the dead version are still there.
    const shown = await shownCanary('weather_agent');
    expect(shown).toMatchObject({ version: '2.0.0', percent: 50, pinned: false, ending: false });
    const figures = {
      runs: expect.any(Number),
      failed: 0,
      p50Ms: expect.any(Number),
      p95Ms: expect.any(Number),
    };
    expect(shown?.versions).toEqual([
      { version: '1.0.0', replicas: 1, ...figures },
      { version: '2.0.0', replicas: 0, ...figures },
    ]);
    expect(shown?.versions[1]?.runs).toBeGreaterThanOrEqual(ofNew);
    const takenOver = load.runs.filter(({ isTakenOver }) => isTakenOver).length;
    console.log(`canary, taken over from the killed replicas: ${takenOver} runs`);
    expect(takenOver).toBeGreaterThan(0);

    const again = await Promise.all(
      old.map(({ name }) => mesh.start(sampleOf(name), { MESH_VERSION: '2.0.0' })),
    );
    await setAll(0);
    await delay(3_000);
    const stopped = await next(200);
    report('0 %', stopped);
    expect(shareOf(stopped)).toBe(0);

    await setAll(100);
    await delay(3_000);
    const all = await next(200);
    report('100 %', all);
    // As above: a busy machine may take a version for gone.
    expect(shareOf(all)).toBeGreaterThan(0.98);
    await expect(canaries.end('weather_agent', { waitMs: 10_000 })).rejects.toThrow(
      /1\.0\.0 and 2\.0\.0 are up/,
    );
    for (const each of old) expect(await each.stop()).toBe(0);
    await Promise.all(agents.map((agent) => canaries.end(agent, { waitMs: 20_000 })));
    const after = await next(100);
    report('ended', after);
    expect(shareOf(after)).toBe(1);
    expect(again).toHaveLength(agents.length);
  } finally {
    isOver = true;
    await Promise.all(working);
  }
  expect(load.failures).toEqual([]);
  expect(await canaries.list()).toEqual([]);
  await until(async () => (await shownCanary('weather_agent')) === undefined, {
    what: 'the end of the canary on the map',
  });
  await using streams = await openWorkStreams({ url: mesh.natsUrl, ...mesh.login(provisionUser) });
  const queues = async () => {
    const ofRuns = (await streams.list()).filter(({ kind }) => kind === 'run');
    return ofRuns.map(({ consumer, kept }) => [consumer, kept]).sort();
  };
  const empty = chosen.flatMap(({ manifest: { kind, name } }) => (kind === 'agent' ? [[name, 0]] : []));
  // The last acknowledgements may be on their way.
  await expect.poll(queues, { timeout: 5_000 }).toEqual(empty.sort());
}, 300_000);
