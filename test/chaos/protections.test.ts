import { pauseProcess, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sabotage } from './sabotage.ts';
import { openStage, type Stage } from './stage.fixture.ts';

const rulesIn = async (stage: Stage, settleMs?: number) =>
  new Set((await stage.verdict(settleMs)).map(({ rule }) => rule));

/** A replica stands still until its run was given to another one and ended, and then goes on. */
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

/** The replica dies that has the result of a remote tool and has not kept it. */
async function dieWithResult(stage: Stage): Promise<void> {
  for (const replica of stage.field.parts.front_agent) replica.arm('mid-tool');
  await stage.send('remote').end;
}

/** The replica dies that works on the run. */
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

  it('a replica that outlives its run is refused, a result is kept, a run outlives its replica', async () => {
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

  it('a run that two replicas ended, where nobody is fenced off', async () => {
    await using stage = await without('no-fencing');
    await outlive(stage);
    await until(async () => (await rulesIn(stage)).has('ended-once'), {
      what: 'the late replica to end the run again',
    });
  });

  it('work that was done again, where results are not kept', async () => {
    await using stage = await without('no-dedupe');
    await dieWithResult(stage);
    expect(await rulesIn(stage)).toEqual(new Set(['counted-once']));
  });

  it('a run that was lost, where it is acknowledged before it is committed', async () => {
    await using stage = await without('ack-first');
    const { attempt, end } = await dieAtWork(stage);
    end.catch(() => {});
    await until(() => attempt.invocationId !== undefined && deaths(stage) > 0, {
      what: 'the run to be taken, and its replica to die',
    });
    expect(await rulesIn(stage, 1_500)).toEqual(new Set(['ended-once']));
  });
});
