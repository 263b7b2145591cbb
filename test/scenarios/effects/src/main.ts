// One replica of two tools whose effects are lines in a file: `pay`, and `export`, whose calls are jobs.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, FunctionTool, LongRunningFunctionTool } from '@agentmesh/agent';
import { connectNats } from '@agentmesh/bus';
import { createCallers, createMesh, serveTool } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';

const { NATS_URL = '', REDIS_URL = '', EFFECTS_FILE = '' } = process.env;
/** Time between the effect and the result, in ms: a fault begins in it. */
const betweenMs = 400;

async function carryOut(_args: unknown, context?: Context): Promise<Record<string, unknown>> {
  appendFileSync(EFFECTS_FILE, `${context?.functionCallId} ${process.pid}\n`);
  await delay(betweenMs);
  return { by: process.pid };
}

for (const tool of [
  new FunctionTool({ name: 'pay', description: 'pays', execute: carryOut }),
  new LongRunningFunctionTool({
    name: 'export',
    description: 'exports',
    async *execute(args, context?: Context) {
      const done = await carryOut(args, context);
      yield { percent: 99 };
      return { status: 'completed', ...done };
    },
  }),
]) {
  const service = `tool_${tool.name}`;
  const log = createLogger({ service, replica: service, level: 'error', destination: process.stderr });
  const bus = await connectNats({ url: NATS_URL, service, cards: false });
  // Gives a write up sooner than the default of five seconds, so that short outages of the tests are enough.
  const store = await connectRedisStore({ url: REDIS_URL, timeoutMs: 300, onError: () => {} });
  const { sessions, callResults, jobs } = store;
  const callers = createCallers(store.callerKeys);
  await serveTool(createMesh({ bus, sessions, callResults, jobs, callers, log }), tool, { leaseMs: 600 });
}
process.stdout.write('serving\n');
