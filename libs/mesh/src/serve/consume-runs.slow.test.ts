import { BaseAgent, createEvent, type Event, type InvocationContext } from '@agentmesh/agent';
import { type CanaryInput, canarySchema, subjects, versionKey } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { memoryMesh } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { wantedQueues } from './consume-runs.ts';
import { serveAgent } from './serve-agent.ts';

const names = subjects();

describe('the queues of a replica', () => {
  const canary = (percent: number, more: object = {}) =>
    canarySchema.parse({ agent: 'desk', version: '2.0.0', percent, ...more });
  const both = new Set(['1.0.0', '2.0.0']);
  const own = { own: true, canary: false };
  const ofCanary = { own: false, canary: true };
  const all = { own: true, canary: true };

  it.each([
    ['no canary: its own', undefined, '1.0.0', both, own],
    ['both versions are up: the old one', canary(10), '1.0.0', both, own],
    ['both versions are up: the canary', canary(10), '2.0.0', both, ofCanary],
    ['the canary has no replica', canary(10), '1.0.0', new Set(['1.0.0']), all],
    ['only the canary is up', canary(10), '2.0.0', new Set(['2.0.0']), all],
    ['a stopped canary takes nothing', canary(0), '2.0.0', both, { own: false, canary: false }],
    ['the others take what a stopped canary leaves', canary(0), '1.0.0', both, all],
    ['a stopped canary that is alone', canary(0), '2.0.0', new Set(['2.0.0']), all],
    ['a canary with all sessions', canary(100), '2.0.0', both, all],
    ['a pinned canary leaves answers to the others', canary(100, { pinned: true }), '2.0.0', both, ofCanary],
    ['a canary that ends', canary(0, { ending: true }), '2.0.0', both, all],
  ])('%s', (_, record, version, up, queues) => {
    expect(wantedQueues(record, version, up)).toEqual(queues);
  });
});

class VersionedAgent extends BaseAgent {
  protected override async *runAsyncImpl({ invocationId }: InvocationContext) {
    yield createEvent({
      invocationId,
      author: this.name,
      content: { role: 'model', parts: [{ text: this.description.slice('is '.length) }] },
    });
  }
}

/** Asks the desk, and returns the version that answered: its description. */
async function askDesk({ bus }: Mesh): Promise<unknown> {
  const request = { message: { role: 'user', parts: [{ text: 'hi' }] } };
  for await (const frame of bus.request(names.agentAsk('desk'), request))
    if (frame.type === 'result') return (frame.data as { text: string }).text;
  return undefined;
}

describe('replicas of two versions', () => {
  async function world() {
    const mesh = memoryMesh();
    const operator = mesh.hub.openLink('operator');
    const serve = async (version: string) => {
      const connected = await mesh.connect('agent_desk');
      const agent = new VersionedAgent({ name: 'desk', description: `is ${version}` });
      return { ...connected, started: await serveAgent(connected, agent, { app: 'app', version }) };
    };
    const [old, next] = [await serve('1.0.0'), await serve('2.0.0')];
    const client = await mesh.connect('client');
    return {
      ...mesh,
      ...{ client, old, next },
      async set(percent: number, more: Partial<CanaryInput> = {}) {
        const canary: CanaryInput = { agent: 'desk', version: '2.0.0', percent, ...more };
        await operator.putCard(names.canaryKey('desk'), new TextEncoder().encode(JSON.stringify(canary)));
        await until(() => client.bus.directory.canary('desk')?.percent === percent);
      },
      /** Returns the versions that answered 40 runs in new sessions. */
      async versions(): Promise<unknown[]> {
        return await Promise.all(
          Array.from({ length: 40 }, async () => {
            const { id } = await mesh.sessions.createSession({ appName: 'app', userId: 'u' });
            const run = await startRun(client, { app: 'app', user: 'u', session: id, message: 'hi' });
            const events: Event[] = await Array.fromAsync(run.events);
            expect(await run.end).toMatchObject({ status: 'completed' });
            return events.at(-1)?.customMetadata?.[versionKey];
          }),
        );
      },
    };
  }

  it('share the runs as the canary says, and any version takes the runs of one that is gone', async () => {
    const mesh = await world();
    await mesh.set(100, { pinned: true });
    await until(async () => new Set(await mesh.versions()).size === 1, { timeoutMs: 10_000 });
    expect(new Set(await mesh.versions())).toEqual(new Set(['2.0.0']));
    await mesh.set(0);
    await until(async () => (await mesh.versions()).every((each) => each === '1.0.0'), { timeoutMs: 10_000 });
    await mesh.set(50);
    await until(async () => new Set(await mesh.versions()).size === 2, { timeoutMs: 10_000 });
    mesh.hub.kill(mesh.next.bus);
    expect(new Set(await mesh.versions())).toEqual(new Set(['1.0.0']));
  }, 30_000);

  it('share the asks as the canary says, and any version answers while another is gone', async () => {
    const mesh = await world();
    const { client } = mesh;
    const versions = async () => {
      const answers: unknown[] = [];
      // A replica answers 64 at once.
      while (answers.length < 200)
        answers.push(...(await Promise.all(Array.from({ length: 50 }, () => askDesk(client)))));
      return answers.filter((each) => each === '2.0.0').length / answers.length;
    };
    await mesh.set(100, { pinned: true });
    await until(async () => (await versions()) === 1, { timeoutMs: 10_000 });
    await mesh.set(0);
    await until(async () => (await versions()) === 0, { timeoutMs: 10_000 });
    await mesh.set(10);
    // Five standard deviations of 200 draws, and no even parts.
    await until(async () => Math.abs((await versions()) - 0.1) < 0.107, { timeoutMs: 10_000 });
    expect(await versions()).toBeLessThan(0.3);
    await mesh.set(100);
    await until(async () => (await versions()) === 1, { timeoutMs: 10_000 });
    mesh.hub.kill(mesh.next.bus);
    await until(async () => (await askDesk(client).catch(() => 'nobody')) === '1.0.0', { timeoutMs: 10_000 });
    expect(await versions()).toBe(0);
  }, 60_000);

  it('a canary changes the card when all sessions are its own', async () => {
    const mesh = await world();
    const card = () => mesh.client.bus.directory.get('agent', 'desk')?.description;
    // Without a canary the last replica that started wrote it.
    expect(card()).toBe('is 2.0.0');
    await mesh.set(10);
    await until(() => card() === 'is 1.0.0');
    await mesh.set(100);
    await until(() => card() === 'is 2.0.0');
    await mesh.set(5);
    await until(() => card() === 'is 1.0.0');
  }, 30_000);
});
