import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Event, keys } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { withGateways } from './people.fixture.ts';

const stock = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
const most = { callerRuns: 30, userRuns: 12, callerTokens: 2_600, userTokens: 1_000 };

let mesh: LocalMesh;
let urls: string[];
beforeAll(async () => {
  const settings = {
    MESH_HTTP_AUTH: 'proxy',
    MESH_HTTP_PERSON_HEADER: 'X-User',
    MESH_HTTP_ROLES_HEADER: 'X-Roles',
    MESH_HTTP_RUNS_PER_MINUTE: String(most.callerRuns),
    MESH_HTTP_USER_RUNS_PER_MINUTE: String(most.userRuns),
    MESH_HTTP_APP_RUNS_PER_MINUTE: 'stock_app=10000',
    MESH_HTTP_TOKENS_PER_MINUTE: String(most.callerTokens),
    MESH_HTTP_USER_TOKENS_PER_DAY: String(most.userTokens),
    MESH_HTTP_APP_TOKENS_PER_DAY: '*=1000000',
    MESH_WHEN_ABSENT: 'enqueue',
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  mesh = await launchMesh({ services: stock, model: 'scripted' });
  urls = [mesh.gatewayUrl, (await mesh.start('gateway')).address ?? ''];
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

const tokensIn = (events: readonly Event[]) =>
  events.reduce((sum, { usageMetadata }) => sum + (usageMetadata?.totalTokenCount ?? 0), 0);

/** Runs once in a new session. Returns the refusal, or the tokens of the run. */
async function runOnce(person: ReturnType<typeof withGateways>, user: string, text = 'Price of GOOG?') {
  const session = `/apps/stock_app/users/${user}/sessions`;
  const { id } = (await (await person('POST', session, {})).json()) as { id: string };
  const response = await person('POST', '/run', {
    ...{ appName: 'stock_app', userId: user, sessionId: id },
    newMessage: { parts: [{ text }] },
  });
  if (response.status === 200) return { tokens: tokensIn((await response.json()) as Event[]) };
  const { error } = (await response.json()) as { error: string };
  return { status: response.status, error, wait: Number(response.headers.get('retry-after')) };
}

/** Runs until a run is refused. Returns the tokens of each run, and the refusal. */
async function runUntilRefused(
  person: ReturnType<typeof withGateways>,
  users: readonly string[],
  text?: string,
) {
  const tokens: number[] = [];
  for (let turn = 0; turn < 200; turn += 1) {
    const result = await runOnce(person, users[turn % users.length] ?? '', text);
    if (result.tokens === undefined) return { tokens, refusal: result };
    tokens.push(result.tokens);
  }
  return { tokens, refusal: undefined };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

describe('quotas over two gateways', () => {
  it('refuse the runs of a user and of a caller past a number in a minute, exactly', async () => {
    // A short message without a call of a tool, so that tokens refuse nothing.
    const ann = await runUntilRefused(
      withGateways(() => urls, 'ann'),
      ['ann'],
      'Hi',
    );
    expect(ann.tokens).toHaveLength(most.userRuns);
    expect(ann.refusal).toMatchObject({
      status: 429,
      error: expect.stringContaining(`${most.userRuns} runs in a minute are the most for user ann`),
    });
    expect(ann.refusal?.wait).toBeGreaterThanOrEqual(1);
    expect(ann.refusal?.wait).toBeLessThanOrEqual(120);
    const operator = withGateways(() => urls, 'oli', 'operator');
    expect(await runOnce(operator, 'ann', 'Hi')).toMatchObject({ status: 429 });
    const others = await runUntilRefused(operator, ['u1', 'u2', 'u3'], 'Hi');
    // The refused run counts nowhere.
    expect(others.tokens).toHaveLength(most.callerRuns);
    expect(others.refusal?.error).toContain(
      `${most.callerRuns} runs in a minute are the most for one caller`,
    );
  });

  it('refuse the next run once the tokens are used, and each run counts once', async () => {
    const { tokens, refusal } = await runUntilRefused(
      withGateways(() => urls, 'tom'),
      ['tom'],
    );
    expect(refusal).toMatchObject({
      status: 429,
      error: expect.stringContaining(`${most.userTokens} tokens in a day are the most for user tom`),
    });
    expect(Math.min(...tokens)).toBeGreaterThan(0);
    expect(sum(tokens)).toBeGreaterThanOrEqual(most.userTokens);
    expect(sum(tokens.slice(0, -1))).toBeLessThan(most.userTokens);
    expect(refusal?.wait).toBeGreaterThan(60);
    const operator = withGateways(() => urls, 'ole', 'operator');
    const others = await runUntilRefused(operator, ['v1', 'v2', 'v3', 'v4']);
    expect(others.refusal?.error).toContain(
      `${most.callerTokens} tokens in a minute are the most for one caller`,
    );
    expect(sum(others.tokens)).toBeGreaterThanOrEqual(most.callerTokens);
    expect(sum(others.tokens.slice(0, -1))).toBeLessThan(most.callerTokens);
  });

  it('count runs whose gateway was killed before they began', async () => {
    const doomed = await mesh.start('gateway');
    const alone = withGateways(() => [doomed.address ?? ''], 'kim');
    const session = '/apps/stock_app/users/kim/sessions/s';
    await alone('POST', session, {});
    await Promise.all(mesh.processes.map((each) => each.stop()));
    // Nobody answers, so the runs wait in their queue.
    const answers = Array.from({ length: 2 }, async () => {
      const response = await alone('POST', '/run_sse', {
        ...{ appName: 'stock_app', userId: 'kim', sessionId: 's' },
        newMessage: { parts: [{ text: 'Price of GOOG?' }] },
      });
      return { response, invocation: response.headers.get('x-invocation-id') };
    });
    const begun = await Promise.all(answers);
    expect(begun.map(({ response }) => response.status)).toEqual([200, 200]);
    await doomed.kill();
    for (const { response } of begun) await response.text().catch(() => {});
    for (const sample of stock) await mesh.start(sample);
    const kim = withGateways(() => urls, 'kim');
    const used = await until(
      async () => {
        const read = begun.map(async ({ invocation }) => {
          const response = await kim('GET', `${session}/invocations/${invocation}`);
          return ((await response.json()) as { status: string }).status;
        });
        if ((await Promise.all(read)).some((status) => status !== 'completed')) return undefined;
        const { events } = (await (await kim('GET', session)).json()) as { events: Event[] };
        return tokensIn(events);
      },
      { what: 'the end of the runs', intervalMs: 200 },
    );
    expect(used).toBeGreaterThan(0);
    const redis = new Redis(mesh.redisUrl);
    onTestFinished(() => redis.disconnect());
    const areCounted = async () => (await redis.hlen(keys().runQuotas.open)) === 0;
    await until(areCounted, { what: 'the count of the other gateways', intervalMs: 200 });
    const { tokens, refusal } = await runUntilRefused(kim, ['kim']);
    expect(refusal?.error).toContain('for user kim');
    expect(used + sum(tokens)).toBeGreaterThanOrEqual(most.userTokens);
    expect(used + sum(tokens.slice(0, -1))).toBeLessThan(most.userTokens);
  });
});
