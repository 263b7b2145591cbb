import { pauseProcess, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sabotage } from './sabotage.ts';
import { openStage, type Stage } from './stage.fixture.ts';

const rulesIn = async (stage: Stage, settleMs?: number) =>
  new Set((await stage.verdict(settleMs)).map(({ rule }) => rule));

/** Pauses a replica until another one has got its run and ended it, and then resumes it. */
async function outlive(stage: Stage): Promise<void> {
  const gate = stage.holdNextAnswer();
  const { attempt, end } = stage.send('local');
  await gate.held;
  const paused = pauseProcess(await stage.writerOf(attempt));
  try {
    await end;
  } finally {
    paused.resume();
    gate.release();
  }
}

/** Kills the replica that has the result of a remote tool and has not stored it. */
async function dieWithResult(stage: Stage): Promise<void> {
  for (const replica of stage.field.parts.front_agent) replica.arm('mid-tool');
  await stage.send('remote').end;
}

/** Kills the replica that works on the run. */
async function dieAtWork(stage: Stage) {
  for (const replica of stage.field.parts.front_agent) replica.arm('mid-model-call');
  return stage.send('local');
}

const deaths = ({ field }: Stage) => field.replicas.flatMap(({ dead }) => dead).length;

describe('with all protections', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  it('a late replica is refused, a result is kept, and a run survives its replica', async () => {
    await outlive(stage);
    await until(() => stage.lines.some((line) => line.includes('has taken over')), {
      what: 'the late replica to be refused',
    });
    await dieWithResult(stage);
    expect(deaths(stage)).toBeGreaterThan(0);
    const { end } = await dieAtWork(stage);
    await end;
    expect(await stage.verdict()).toEqual([]);
  });
});

describe('the checker reports', () => {
  const without = (protection: Sabotage) => openStage(protection);

  it('a run that two replicas ended, without fencing', async () => {
    await using stage = await without('no-fencing');
    await outlive(stage);
    await until(async () => (await rulesIn(stage)).has('ended-once'), {
      what: 'the late replica to end the run again',
    });
  });

  it('repeated work, when results are not kept', async () => {
    await using stage = await without('no-dedupe');
    await dieWithResult(stage);
    expect(await rulesIn(stage)).toEqual(new Set(['effects-once']));
  });

  it('a lost run, when it is acknowledged before its commits', async () => {
    await using stage = await without('ack-first');
    const { attempt, end } = await dieAtWork(stage);
    end.catch(() => {});
    await until(() => attempt.invocationId !== undefined && deaths(stage) > 0, {
      what: 'the run to be taken, and its replica to die',
    });
    // The run holds its session, and its client waits.
    const rules = ['ended-once', 'saw-all-once', 'nothing-left'];
    expect(await rulesIn(stage, 1_500)).toEqual(new Set(rules));
  });
});
