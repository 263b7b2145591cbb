// Runs a service as a process of its own, for run-service.int.test.ts: node run-child.fixture.ts <mode>
// [graceMs]
import { createServer } from 'node:net';
import { AsyncDisposableStack, MeshError, startSpan } from '@agentmesh/protocol';
import { createLogger } from './logger.ts';
import { startHealth } from './probes/health.ts';
import { runService } from './run-service.ts';
import { startTraces } from './traces/start-traces.ts';

const [mode = 'well', graceMs = '20000'] = process.argv.slice(2);
const log = createLogger({ service: 'child', replica: 'child-1', level: 'debug' });

function owner(name: string, stop: () => Promise<void> = async () => {}): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      log.info({ owner: name }, 'owner stops');
      await stop();
    },
  };
}

const never = () => new Promise<void>(() => {});

async function start({ signal }: { signal: AbortSignal }): Promise<AsyncDisposable> {
  await using owners = new AsyncDisposableStack();
  owners.use(owner('first'));
  log.info('starting');
  if (mode === 'mesh-error') {
    const cause = new Error('connect refused');
    throw new MeshError('unavailable', 'nats is away; start it', { cause });
  }
  if (mode === 'defect') throw new TypeError('a defect');
  if (mode === 'slow-start') {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
  if (mode === 'deaf-start') await never();
  owners.use(owner('second', mode === 'stuck' ? never : undefined));
  if (mode === 'stop-fails') owners.use(owner('third', () => Promise.reject(new Error('cannot stop'))));
  if (mode === 'leak') createServer().listen(0, '127.0.0.1');
  if (mode === 'health') {
    const health = owners.use(await startHealth({ port: 0, host: '127.0.0.1', ready: () => ['warming up'] }));
    log.info({ port: health.port }, 'health');
  }
  if (mode === 'traces') {
    const config = { traces: 'otlp', traceContent: '0', traceRedact: undefined } as const;
    const ids = { service: 'child', replica: 'child-1', version: '1.2.3' };
    owners.use(await startTraces({ config, ...ids, log }));
    startSpan('work', {}, () => ({ kind: 'internal', attributes: {} }))?.end();
  }
  if (mode === 'rejects') setImmediate(() => Promise.reject(new Error('nobody caught this')));
  if (mode === 'warns') process.emitWarning('the memory is away', { code: 'AGENTMESH_MEMORY' });
  if (mode === 'throws') {
    setImmediate(() => {
      throw new Error('nobody caught this');
    });
  }
  return owners.move();
}

await runService({ name: 'child', start, log, graceMs: Number(graceMs) });
