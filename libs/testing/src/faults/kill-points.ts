import { intercept } from './intercept.ts';
import type { Killer } from './killer.ts';

// Only the members that the kit needs. It cannot import the real types, because their libraries are above it.
interface Sessions {
  appendEvent(request: never): Promise<unknown>;
}
interface Bus {
  publish(...args: never[]): Promise<void>;
  consumeRuns(...args: never[]): Promise<unknown>;
}
interface Model {
  generateContentAsync(...args: never[]): AsyncGenerator<unknown, void, void>;
}
interface Tool {
  runAsync(request: never): Promise<unknown>;
}

/**
 * The parts of a service at which its process can be made to die. Leave out the parts that it does not have.
 */
export interface KillableParts {
  /** A `SessionService`: `before-commit`, `after-commit`. */
  sessions?: Sessions;
  /** A `Bus`: `after-publish`, `before-ack`. Add the points before `serveAgent`. */
  bus?: Bus;
  /** `BaseLlm`s: `mid-model-call`. */
  models?: readonly Model[];
  /** `BaseTool`s: `mid-tool`. */
  tools?: readonly Tool[];
}

/**
 * Adds the killer's points to the methods of a service's parts, which stay the same objects. Returns a
 * function that removes the points.
 */
export function addKillPoints(killer: Killer, parts: KillableParts): () => void {
  const { sessions, bus, models = [], tools = [] } = parts;
  const undo = [
    ...(sessions ? [aroundCommit(killer, sessions)] : []),
    ...(bus ? [aroundPublish(killer, bus), aroundRuns(killer, bus)] : []),
    ...models.map((model) => aroundModel(killer, model)),
    ...tools.map((tool) => aroundTool(killer, tool)),
  ];
  return () => {
    for (const each of undo) each();
  };
}

function aroundCommit(killer: Killer, sessions: Sessions) {
  return intercept(sessions, 'appendEvent', (call) => async (request) => {
    await killer.reached('before-commit');
    const event = await call(request);
    await killer.reached('after-commit');
    return event;
  });
}

function aroundPublish(killer: Killer, bus: Bus) {
  return intercept(bus, 'publish', (call) => async (...args) => {
    await call(...args);
    await killer.reached('after-publish');
  });
}

type RunHandler = (item: unknown) => Promise<{ done: boolean }>;

function aroundRuns(killer: Killer, bus: Bus) {
  return intercept(bus, 'consumeRuns', (call) => (...args) => {
    const [agent, handler, ...rest] = args as unknown as [string, RunHandler, ...unknown[]];
    const handle: RunHandler = async (item) => {
      const outcome = await handler(item);
      if (outcome.done) await killer.reached('before-ack');
      return outcome;
    };
    return call(...([agent, handle, ...rest] as never[]));
  });
}

function aroundModel(killer: Killer, model: Model) {
  return intercept(
    model,
    'generateContentAsync',
    (call) =>
      async function* (...args) {
        for await (const piece of call(...args)) {
          await killer.reached('mid-model-call');
          yield piece;
        }
      },
  );
}

function aroundTool(killer: Killer, tool: Tool) {
  return intercept(tool, 'runAsync', (call) => async (request) => {
    const result = await call(request);
    // The work of a tool that yields progress is done at the end of its generator.
    if (isAsyncGenerator(result)) return reachAfter(killer, result);
    await killer.reached('mid-tool');
    return result;
  });
}

async function* reachAfter(killer: Killer, work: AsyncGenerator<unknown, unknown, void>) {
  const result = yield* work;
  await killer.reached('mid-tool');
  return result;
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, void> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;
}
