import { expect, test } from 'vitest';
import { addKillPoints } from './kill-points.ts';
import { createKiller, type KillPoint, killPoints } from './killer.ts';

class Sessions {
  readonly #log: string[] = [];
  async appendEvent({ event }: { event: string }) {
    this.#log.push(event);
    return event;
  }
  read = () => this.#log;
}

class Model {
  async *generateContentAsync(prompt: string): AsyncGenerator<string, void, void> {
    yield `${prompt} 1`;
    yield `${prompt} 2`;
  }
}

/** Makes a small service that asks a model, calls a tool, commits and publishes. */
function makeService() {
  const done: string[] = [];
  const sessions = new Sessions();
  const model = new Model();
  const tool = { runAsync: async (args: string) => void done.push(`tool ${args}`) };
  const bus = {
    publish: async (subject: string) => void done.push(`publish ${subject}`),
    async consumeRuns(_agent: string, handler: (item: string) => Promise<{ done: boolean }>, _o: object) {
      if ((await handler('run')).done) done.push('ack');
    },
  };
  const run = async () => {
    for await (const piece of model.generateContentAsync('say')) done.push(piece);
    await tool.runAsync('x');
    await sessions.appendEvent({ event: 'e' });
    await bus.publish('news');
    return { done: true };
  };
  return { done, sessions, model, tool, bus, start: () => bus.consumeRuns('a', run, {}) };
}

async function dieAt(point: KillPoint, passes = 0) {
  const service = makeService();
  const died = Promise.withResolvers<KillPoint>();
  const killer = createKiller({ die: died.resolve });
  addKillPoints(killer, { ...service, models: [service.model], tools: [service.tool] });
  killer.arm(point, passes);
  const end = await Promise.race([died.promise, service.start().then(() => 'alive')]);
  return { end, done: [...service.done, ...service.sessions.read()] };
}

test.each<[KillPoint, string[]]>([
  ['mid-model-call', []],
  ['mid-tool', ['say 1', 'say 2', 'tool x']],
  ['before-commit', ['say 1', 'say 2', 'tool x']],
  ['after-commit', ['say 1', 'say 2', 'tool x', 'e']],
  ['after-publish', ['say 1', 'say 2', 'tool x', 'publish news', 'e']],
  ['before-ack', ['say 1', 'say 2', 'tool x', 'publish news', 'e']],
])('dies at %s, and nothing happens after it', async (point, done) => {
  expect(await dieAt(point)).toEqual({ end: point, done });
});

test('passes a point the given number of times', async () => {
  expect(await dieAt('mid-model-call', 1)).toEqual({ end: 'mid-model-call', done: ['say 1'] });
  expect((await dieAt('mid-model-call', 2)).end).toBe('alive');
});

test('changes nothing while it is not armed, and can be removed', async () => {
  const service = makeService();
  const killer = createKiller({ die: () => expect.fail('it was not armed') });
  const undo = addKillPoints(killer, { ...service, models: [service.model], tools: [service.tool] });
  for (const point of killPoints) killer.arm(point);
  killer.disarm();
  await service.start();
  expect(service.done.at(-1)).toBe('ack');
  undo();
  expect(Object.hasOwn(service.sessions, 'appendEvent')).toBe(false);
  for (const point of killPoints) {
    killer.arm(point);
    await service.start();
  }
  expect(service.sessions.read()).toHaveLength(7);
});

test('a tool with progress dies after its last progress', async () => {
  const progress: unknown[] = [];
  const tool = {
    async runAsync() {
      return (async function* () {
        yield 'half';
        return 'whole';
      })();
    },
  };
  const died = Promise.withResolvers<KillPoint>();
  const killer = createKiller({ die: died.resolve });
  addKillPoints(killer, { tools: [tool] });
  killer.arm('mid-tool');
  const work = await tool.runAsync();
  void (async () => {
    for await (const each of work) progress.push(each);
    progress.push('end');
  })();
  expect(await died.promise).toBe('mid-tool');
  expect(progress).toEqual(['half']);
});
