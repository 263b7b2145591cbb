import { messageEventId } from '@agentmesh/agent/internal';
import type { Execution } from './history.ts';
import { emptyView, responds } from './parts.fixture.ts';
import { eventsOf, insertAfter, type Spoil, sessionOf, viewOf } from './spoil-tools.fixture.ts';
import type { Story } from './story.fixture.ts';

/** Returns the execution of a run's only call of a remote tool. */
function effectOf({ history, runs }: Story, run: keyof Story['runs']): Execution {
  const found = history.executions.find(({ invocationId }) => invocationId === runs[run].invocationId);
  if (!found) throw new Error(`run ${run} has no effect`);
  return found;
}

/** The breaks of the effects of tools. */
export const effectSpoils: Spoil[] = [
  [
    'a remote tool has its effect twice, and its process lives',
    'effects-once',
    (story) => {
      const first = effectOf(story, 'remote');
      story.history.executions.push({
        ...first,
        life: 'tool/2#1',
        replica: 'tool/2',
        beganAt: first.beganAt + 3,
      });
    },
  ],
  [
    'a remote tool has its effect twice after a pause of its process',
    'effects-once',
    (story) => {
      const first = effectOf(story, 'remote');
      const { lives, executions } = story.history;
      lives.find(({ life }) => life === first.life)?.pauses.push([first.beganAt, first.beganAt + 2]);
      executions.push({ ...first, life: 'tool/2#1', replica: 'tool/2', beganAt: first.beganAt + 3 });
    },
  ],
  [
    'a remote tool has its effect twice after a pause of its process, and NATS restarted before',
    'effects-once',
    (story) => {
      const first = effectOf(story, 'remote');
      const { lives, executions, faults } = story.history;
      faults.push({ at: first.beganAt - 0.75, kind: 'restart', target: 'nats', forMs: 0.25 });
      faults.push({ at: first.beganAt + 1, kind: 'restart', target: 'redis', forMs: 0.25 });
      lives.find(({ life }) => life === first.life)?.pauses.push([first.beganAt, first.beganAt + 2]);
      executions.push({ ...first, life: 'tool/2#1', replica: 'tool/2', beganAt: first.beganAt + 3 });
    },
  ],
  [
    'a remote tool has its effect again after its process died too late for an excuse',
    'effects-once',
    (story) => {
      const first = effectOf(story, 'remote');
      const { lives, executions } = story.history;
      const life = lives.find((each) => each.life === first.life);
      if (life) life.diedAt = first.beganAt + 5;
      executions.push({ ...first, life: 'tool/2#1', replica: 'tool/2', beganAt: first.beganAt + 3 });
    },
  ],
  [
    'a remote tool has its effect again after its run has completed',
    'effects-once',
    (story) => {
      const first = effectOf(story, 'remote');
      const { lives, executions } = story.history;
      const life = lives.find((each) => each.life === first.life);
      if (life) life.diedAt = 8_000;
      executions.push({ ...first, life: 'tool/2#1', replica: 'tool/2', beganAt: 9_000 });
    },
  ],
  [
    'an effect belongs to no call',
    'effects-once',
    (story) => story.history.executions.push({ ...effectOf(story, 'remote'), callId: 'c-none' }),
  ],
  [
    'a call has a result and had no effect',
    'effects-once',
    (story) => {
      const { history } = story;
      const effect = effectOf(story, 'remote');
      history.executions = history.executions.filter((each) => each !== effect);
    },
  ],
  [
    'a cancelled run has an effect after its client was told the end',
    'effects-once',
    (story) => {
      effectOf(story, 'cancelled').beganAt = 9_000;
    },
  ],
  [
    'a run has an effect after a cancellation that was acknowledged and is recorded nowhere',
    'effects-once',
    (story) => {
      const { builder, main, runs } = story;
      const { invocationId } = runs.remote;
      builder.act('cancel', main, { invocationId });
      effectOf(story, 'remote').beganAt = builder.tick();
      for (const end of runs.remote.view?.ends ?? []) end.at = builder.tick();
    },
  ],
  [
    'a run has an effect long after its deadline',
    'effects-once',
    (story) => {
      const { sentAt } = story.runs.remote;
      story.runs.remote.deadlineMs = 1;
      effectOf(story, 'remote').beganAt = sentAt + 60_000;
    },
  ],
];

/** The breaks of questions, tickets and jobs. */
export const answerSpoils: Spoil[] = [
  [
    'a ticket wakes its agent twice',
    'answered-once',
    ({ builder, main, calls }) => void builder.answer(main, calls.ticket, 'nats'),
  ],
  [
    'a ticket wakes its agent again with its first response',
    'answered-once',
    ({ builder, main, calls }) => {
      const message = builder.send(main, 'answer', { via: 'nats' });
      Object.assign(message, { kind: 'answer', text: undefined, expected: undefined });
      const content = responds(calls.openTicket, 'ticket', { status: 'pending' });
      for (const { functionResponse } of content.parts)
        if (functionResponse) functionResponse.willContinue = true;
      builder.commit(main, message, { id: messageEventId(message, 'main'), author: 'user', content });
      builder.speak(main, message, 'thanks');
      builder.end(message, { status: 'completed' });
    },
  ],
  [
    'an outcome that was accepted is lost',
    'answered-once',
    ({ builder, main, calls }) => {
      const late = builder.send(main, 'answer', { via: 'nats' });
      const answers = [{ callId: calls.openTicket, response: {} }];
      Object.assign(late, { kind: 'answer', answers, text: undefined, invocationId: undefined });
    },
  ],
  [
    'an outcome comes from nobody',
    'answered-once',
    ({ main, calls }) => {
      const { event } =
        main.events.findLast((each) => each.event.author === 'user' && holds(each.event, calls.ticket)) ?? {};
      if (event) event.content = responds(calls.ticket, 'answered', { ok: false });
    },
  ],
  [
    'a job has two outcomes',
    'answered-once',
    ({ builder, history }) => {
      const work = sessionOf(history.sessions, 'work');
      const { event } = work.events.find((each) => each.event.id.endsWith('/outcome')) ?? {};
      if (!event) throw new Error('there is no outcome');
      const last = work.events.at(-1)?.event;
      builder.tick();
      if (last) insertAfter(work, last, { ...event, id: `${event.id}/2` });
    },
  ],
  [
    'a cancelled run leaves an open call',
    'answered-once',
    ({ history, calls, runs }) => {
      const work = sessionOf(history.sessions, 'work');
      work.pending.push({ callId: calls.closed, kind: 'result', deadline: 9e15 });
      const failure = eventsOf(work, runs.cancelled).at(-1)?.event;
      delete failure?.actions.closedCalls;
    },
  ],
  [
    'a call has no outcome and is not pending',
    'answered-once',
    ({ main }) => {
      main.pending = [];
    },
  ],
  [
    'a call is pending although it has its outcome',
    'answered-once',
    ({ main, calls }) => main.pending.push({ callId: calls.ticket, kind: 'result', deadline: 9e15 }),
  ],
  [
    'a call waits for a job that is over',
    'answered-once',
    ({ history, calls }) => {
      const work = sessionOf(history.sessions, 'work');
      for (const call of work.pending) if (call.callId === calls.job) call.hasJob = false;
    },
  ],
  [
    'a pending call is in no log',
    'answered-once',
    ({ main }) => main.pending.push({ callId: 'c-none', kind: 'result', deadline: 9e15 }),
  ],
  [
    'a job that went well becomes a dead letter',
    'dead-letters',
    ({ history, calls }) =>
      history.rest.deadLetters.push({
        ...{ subject: `operation.front.${calls.job}`, code: 'failed_precondition', payload: '{}' },
        message: 'the call was answered before',
      }),
  ],
];

const holds = (
  { content }: { content?: { parts?: { functionResponse?: { id?: string } }[] } },
  callId: string,
) => content?.parts?.some(({ functionResponse }) => functionResponse?.id === callId) ?? false;

/** The breaks of what clients were told. */
export const clientSpoils: Spoil[] = [
  [
    'a client is never told anything',
    'saw-all-once',
    ({ runs }) => {
      runs.chat.view = emptyView();
    },
  ],
  [
    'a client has no view at all',
    'saw-all-once',
    ({ runs }) => {
      delete runs.chat.view;
    },
  ],
  [
    'a client is never told the end',
    'saw-all-once',
    ({ runs }) => {
      Object.assign(viewOf(runs.remote), { finished: false, ends: [] });
    },
  ],
  [
    'a client misses an event',
    'saw-all-once',
    ({ runs }) => {
      viewOf(runs.remote).seen.splice(1, 1);
      viewOf(runs.remote).texts.splice(1, 1);
    },
  ],
  [
    'a client sees an event twice',
    'saw-all-once',
    ({ runs }) => {
      const { seen, texts } = viewOf(runs.remote);
      seen.push(seen.at(-1) ?? '');
      texts.push(texts.at(-1) ?? '');
    },
  ],
  [
    'a client sees events in another order',
    'saw-all-once',
    ({ runs }) => {
      viewOf(runs.remote).seen.reverse();
    },
  ],
  [
    'a failover takes an event back that a client saw',
    'saw-all-once',
    ({ runs }) => {
      viewOf(runs.chat).seen.push('gone');
      viewOf(runs.chat).texts.push('gone');
    },
  ],
  [
    'a client is told other words than the log has',
    'saw-all-once',
    ({ runs }) => {
      viewOf(runs.chat).texts[0] = 'other words';
    },
  ],
];
