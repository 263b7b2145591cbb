import { expect, it } from 'vitest';
import { HistoryBuilder } from './check/builder.fixture.ts';
import { recoveryTimes } from './recovery-times.ts';

it('measures from each fault to the next event of the slowest run under way', () => {
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
    { at: 5, kind: 'pause', target: 'nobody is at work' },
  ];
  expect(recoveryTimes(history, 1_000)).toEqual([
    { kind: 'kill', count: 2, p50: 470, p99: 2_000 },
    { kind: 'pause', count: 1, p50: 5, p99: 5 },
  ]);
});
