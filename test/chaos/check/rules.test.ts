import { describe, expect, it } from 'vitest';
import { HistoryBuilder } from './builder.fixture.ts';
import { answerSpoils, clientSpoils, effectSpoils } from './outside-spoils.fixture.ts';
import { restSpoils } from './rest-spoils.fixture.ts';
import { check, rules } from './rules.ts';
import { callSpoils, runSpoils } from './spoils.fixture.ts';
import { tellStory } from './story.fixture.ts';

const spoils = [
  ...runSpoils,
  ...callSpoils,
  ...effectSpoils,
  ...answerSpoils,
  ...clientSpoils,
  ...restSpoils,
];

it('finds nothing in a history that keeps all rules', () => {
  const { history } = tellStory();
  expect(check(history)).toEqual([]);
  expect(history.messages.length).toBeGreaterThan(25);
});

describe('a spoilt history is reported by the rule that it breaks, and by no other:', () => {
  it.each(spoils)('%s (%s)', (_name, rule, spoil) => {
    const story = tellStory();
    spoil(story);
    const violations = check(story.history);
    expect(new Set(violations.map((violation) => violation.rule)), JSON.stringify(violations)).toEqual(
      new Set([rule]),
    );
  });

  it('is there for every rule', () => {
    expect(new Set(spoils.map(([, rule]) => rule))).toEqual(new Set(Object.keys(rules)));
  });
});

it('excuses what a failover of Redis took back, and nothing that hangs or does not fit together', () => {
  const { history, runs } = tellStory();
  const session = history.sessions.find(({ sessionId }) => sessionId === runs.chat.session.sessionId);
  const record = history.invocations.find(({ invocationId }) => invocationId === runs.chat.invocationId);
  if (!session || !record) throw new Error('the run has no session or no record');
  Object.assign(record, { status: 'running', ends: [] });
  expect(check(history)).not.toEqual([]);
  history.hasLostWrites = true;
  expect(check(history)).toEqual([]);
  history.unsettled.push('a client still waits');
  session.events.splice(1, 1);
  const rulesOf = new Set(check(history).map(({ rule }) => rule));
  expect(rulesOf).toContain('nothing-hangs');
  expect(rulesOf).toContain('without-gap');
});

it('judges a value that sessions share, unless a deleted session may have written it', () => {
  const builder = new HistoryBuilder();
  const [session, other] = [builder.session(), builder.session()];
  builder.say(session, 'remote');
  expect(check(builder.history)).toEqual([]);
  session.state['user:last_add_remote'] = 'c-other';
  expect(check(builder.history)).toMatchObject([{ rule: 'state-is-sum' }]);
  builder.say(other, 'chat');
  builder.remove(other);
  expect(check(builder.history)).toEqual([]);
});

it('allows a second effect after a pause of the process in which NATS restarted, and closed its connection', () => {
  const { history, runs } = tellStory();
  const first = history.executions.find(({ invocationId }) => invocationId === runs.remote.invocationId);
  if (!first) throw new Error('the run has no effect');
  const { beganAt } = first;
  history.executions.push({ ...first, life: 'tool/2#1', replica: 'tool/2', beganAt: beganAt + 3 });
  history.lives.find(({ life }) => life === first.life)?.pauses.push([beganAt, beganAt + 2]);
  expect(check(history)).toMatchObject([{ rule: 'effects-once' }]);
  history.faults.push({ at: beganAt - 0.5, kind: 'restart', target: 'nats', forMs: 1 });
  expect(check(history)).toEqual([]);
});

it('allows an effect of a cancelled run in a process that the cancellation had not reached', () => {
  const { history, runs } = tellStory();
  const effect = history.executions.find(({ invocationId }) => invocationId === runs.cancelled.invocationId);
  if (!effect) throw new Error('the run has no effect');
  effect.beganAt = 9_000;
  expect(check(history)).toMatchObject([{ rule: 'effects-once' }]);
  history.lives.find(({ life }) => life === effect.life)?.unaware.push([runs.cancelled.sentAt, 9_001]);
  expect(check(history)).toEqual([]);
});

it('allows an effect after a cancellation of a run whose client was told its end before', () => {
  const { history, builder, main, runs } = tellStory();
  const { invocationId } = runs.remote;
  builder.act('cancel', main, { invocationId });
  const effect = history.executions.find((each) => each.invocationId === invocationId);
  if (!effect) throw new Error('the run has no effect');
  effect.beganAt = builder.tick();
  expect(check(history)).toEqual([]);
});

const isOf =
  (message: { invocationId: string }) =>
  ({ invocationId }: { invocationId: string }) =>
    invocationId === message.invocationId;

describe('when NATS forgot an acknowledgement', () => {
  const forgotten = { at: 1, kind: 'forgetAck', target: 'front/1' };

  it('allows that a settled message over NATS runs again in the session that was made after its deletion', () => {
    const { history, runs } = tellStory();
    const { old } = runs;
    old.via = 'nats';
    for (const end of [...(old.view?.ends ?? []), ...history.news.filter(isOf(old))])
      Object.assign(end, { status: 'failed', code: 'not_found' });
    const ends = [{ status: 'completed' as const }];
    history.invocations.push({ ...old.session, invocationId: old.invocationId, status: 'completed', ends });
    expect(check(history)).toMatchObject([{ rule: 'ended-once' }]);
    history.faults.push(forgotten);
    expect(check(history)).toEqual([]);
  });

  it('allows a dead letter for a settled message, whose large payload is gone', () => {
    const { history } = tellStory();
    const message =
      'the payload of a message on run.s1, 70000 bytes, is not there any more; send the message again';
    history.rest.deadLetters.push({
      subject: 'dead.agent.front',
      code: 'failed_precondition',
      message,
      payload: '""',
    });
    expect(check(history)).toMatchObject([{ rule: 'dead-letters' }]);
    history.faults.push(forgotten);
    expect(check(history)).toEqual([]);
  });
});
