import { MeshError } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { reportTo } from './report.ts';

function logged() {
  const lines: [level: string, fields: object, message: string][] = [];
  const time = { now: 0 };
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log = { warn: at('warn'), error: at('error') } as unknown as Parameters<typeof reportTo>[0];
  return { lines, time, report: reportTo(log, () => time.now) };
}

const refused = () =>
  Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' });

describe('what connections report', () => {
  it('is a warning once, and again after half a minute, while a server cannot be reached', () => {
    const { lines, time, report } = logged();
    for (time.now = 0; time.now < 45_000; time.now += 500) report(refused(), 'redis');
    expect(lines).toEqual(
      Array.from({ length: 2 }, () => [
        'warn',
        { where: 'redis', reason: 'connect ECONNREFUSED 127.0.0.1:6379' },
        'a server is away: trying again until it answers',
      ]),
    );
    report(new MeshError('unavailable', 'the message server gives no answer'), 'nats connection');
    expect(lines.at(-1)?.[1]).toMatchObject({ where: 'nats connection' });
  });

  it('is an error each time for anything else', () => {
    const { lines, report } = logged();
    const defect = new TypeError('x is not a function');
    report(defect, 'subscribe a');
    report(defect, 'subscribe a');
    expect(lines).toEqual(
      Array.from({ length: 2 }, () => ['error', { err: defect, where: 'subscribe a' }, 'defect reported']),
    );
  });
});
