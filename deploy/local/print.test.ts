import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reasonIn } from '@agentmesh/cli/local';
import { describe, expect, it, onTestFinished } from 'vitest';
import { logPrinter } from './print.ts';
import { assertDistinct, describeImportError, missingServices } from './samples.ts';

const line = (level: string, msg: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ level, time: '2026-01-02T03:04:05.678Z', service: 'agent_a', replica: 'r', msg, ...more });

function printer(env: NodeJS.ProcessEnv) {
  const lines: string[] = [];
  const time = { now: 0 };
  const print = (text: string) => void lines.push(text);
  return { lines, time, ...logPrinter({ env, print, now: () => time.now }) };
}

describe('the log that npm start prints', () => {
  it('is short by default: warnings and errors, and the same message of several services once', () => {
    const { lines, time, onLine, scripted } = printer({});
    onLine('a', line('info', 'started'));
    onLine('a', line('info', 'answers come from a script', { model: 'scripted' }));
    for (const service of ['a', 'b', 'c']) onLine(service, line('warn', 'away', { reason: 'refused' }));
    time.now = 20_000;
    onLine('b', line('error', 'away', { err: { message: 'refused' } }));
    onLine('b', 'no JSON');
    expect(lines).toEqual(['  warn a: away: refused', '  error b: away: refused', '  b: no JSON']);
    expect([...scripted]).toEqual(['a']);
  });

  it('names the cause, the tool and the invocation of a failure', () => {
    const { lines, onLine } = printer({});
    const cause = { message: 'callback went boom' };
    onLine(
      'a',
      line('error', 'run failed', { invocationId: 'e-1', err: { message: 'agent a failed', cause } }),
    );
    onLine(
      'a',
      line('warn', 'a tool threw', {
        ...{ invocationId: 'e-2', tool: 'convert', at: 'src/tool.ts:7:11', err: { message: 'no rate' } },
      }),
    );
    onLine(
      'a',
      line('warn', 'a tool threw', { invocationId: 'e-3', tool: 'rates', err: { message: 'no rate' } }),
    );
    const details = { invocationId: 'e-1' };
    onLine('gateway', line('error', 'request failed', { err: { message: 'agent a failed', details } }));
    expect(lines).toEqual([
      '  error a: run failed: agent a failed: callback went boom (invocation e-1)',
      '  warn a: a tool threw: no rate (tool convert, invocation e-2, at src/tool.ts:7:11)',
      '  warn a: a tool threw: no rate (tool rates, invocation e-3)',
      '  error gateway: request failed: agent a failed (invocation e-1)',
    ]);
  });

  it('is complete when a level is set, in the set format or as text', () => {
    const text = printer({ MESH_LOG_LEVEL: 'debug' });
    text.onLine('a', line('debug', 'handed over', { to: 'b' }));
    text.onLine('a', line('trace', 'too fine'));
    expect(text.lines).toEqual(['03:04:05.678 DEBUG agent_a: handed over to=b']);
    const json = printer({ MESH_LOG_FORMAT: 'json' });
    json.onLine('a', line('info', 'started'));
    json.onLine('a', line('debug', 'too fine'));
    expect(json.lines).toEqual([line('info', 'started')]);
    const silent = printer({ MESH_LOG_LEVEL: 'error' });
    silent.onLine('a', line('warn', 'away'));
    expect(silent.lines).toEqual([]);
  });
});

it('refuses two services with one name, and names both folders', () => {
  const manifest = { kind: 'agent' as const, name: 'twin', transfers: [], asks: [], calls: [] };
  const tool = { ...manifest, kind: 'tool' as const };
  expect(() =>
    assertDistinct([
      { manifest, folder: 'one' },
      { manifest: tool, folder: 'two' },
    ]),
  ).not.toThrow();
  expect(() =>
    assertDistinct([
      { manifest, folder: 'one' },
      { manifest, folder: 'two' },
    ]),
  ).toThrow('agent twin is defined twice, in one and in two');
});

it('names an agent or a tool without a service, with the name that was probably meant', () => {
  const uses = { transfers: ['support'], asks: [], calls: ['get_wether'] };
  const agent = { kind: 'agent' as const, name: 'trip', ...uses };
  const tool = { kind: 'tool' as const, name: 'get_weather', transfers: [], asks: [], calls: [] };
  const sentences = missingServices([{ manifest: agent }, { manifest: tool }]);
  expect(sentences).toEqual([
    'trip uses agent support, which none of these services is; calls of it fail until one is started',
    'trip uses tool get_wether, which none of these services is; did you mean get_weather?',
  ]);
});

it('names the line of a definition that is not valid TypeScript', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-definition-'));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const file = join(folder, 'agent.ts');
  await writeFile(file, 'export const a: number = 1;\nconst b = ;\n');
  // Another process imports the file, because Vitest would transform it and report its own errors.
  const script = `import(${JSON.stringify(file)}).catch(({ message, stack }) => console.log(JSON.stringify({ message, stack })))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  const error = Object.assign(new Error(), JSON.parse(stdout));
  expect(describeImportError(error)).toBe(`Expression expected (${file}:2)`);
  expect(describeImportError(new Error('boom'))).toBe('boom');
});

it('takes the reason of a failed start from the log of the service, or from its uncaught error', () => {
  const stack = [
    'file:///a.ts:39',
    '    throw',
    'MeshError: no option `ap`',
    '    at main',
    'Node.js v24.0.0',
  ];
  expect(reasonIn(stack)).toBe('MeshError: no option `ap`');
  expect(reasonIn([...stack, line('fatal', 'could not start', { reason: 'no NATS' })])).toBe('no NATS');
  expect(reasonIn(['killed'])).toBe('\nkilled');
});
