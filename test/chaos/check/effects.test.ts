import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openEffects, readEffects } from '../effects.ts';

const folder = mkdtempSync(join(tmpdir(), 'agentmesh-effects-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('keeps the executions of all processes in order, with the ends that were noted', () => {
  const first = openEffects(folder, 'tool/1#1');
  const end = first.count('add', { callId: 'c1', invocationId: 'i1' });
  openEffects(folder, 'tool/2#1').count('add', { callId: 'c2', invocationId: 'i1' });
  end();
  first.redelivered();
  const { executions, redeliveries } = readEffects(folder);
  expect(executions).toMatchObject([
    { tool: 'add', callId: 'c1', invocationId: 'i1', replica: 'tool/1', life: 'tool/1#1' },
    { callId: 'c2', life: 'tool/2#1' },
  ]);
  const [one, two] = executions;
  expect(one?.endedAt).toBeGreaterThan(two?.beganAt ?? Number.POSITIVE_INFINITY);
  expect(two).not.toHaveProperty('endedAt');
  expect(redeliveries).toBe(1);
});
