import { expect, it } from 'vitest';
import { HistoryBuilder } from './check/builder.fixture.ts';
import { recoveryTimes } from './recovery-times.ts';

it('measures the longest silence of a run that each fault causes', () => {
  const builder = new HistoryBuilder();
  const { history } = builder;
  const [one, other] = [builder.session('one'), builder.session('other')];
  for (const session of [one, other]) builder.say(session, 'remote');
  const times = [
    [10, 20, 500, 510],
    [10, 20, 90, 2_100],
  ];
  for (const [at, { events }] of [one, other].entries())
    for (const [n, { event }] of events.entries()) event.timestamp = 1_000 + (times[at]?.[n] ?? 0);
  history.faults = [
    { at: 30, kind: 'kill', target: 'redis' },
    { at: 100, kind: 'kill', target: 'nats' },
    { at: 15, kind: 'pause', target: 'front/1' },
    { at: 5, kind: 'term', target: 'nobody is at work' },
    { at: 80, kind: 'freeze', target: 'redis', forMs: 300 },
    { at: 2_090, kind: 'cut', target: 'it struck after the last event' },
  ];
  expect(recoveryTimes(history, 1_000)).toEqual([
    { kind: 'kill', count: 2, p50: 2_000, p99: 2_010 },
    { kind: 'pause', count: 1, p50: 2_010, p99: 2_010 },
    { kind: 'term', count: 1, p50: 2_010, p99: 2_010 },
    { kind: 'freeze', count: 1, p50: 2_010, p99: 2_010 },
    { kind: 'cut', count: 1, p50: 10, p99: 10 },
  ]);
});
