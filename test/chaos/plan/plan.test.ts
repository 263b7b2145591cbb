import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../run-chaos.ts';
import { mixes, readMixes } from './mixes.ts';
import { makePlan, type Plan, readPlan, writePlan } from './plan.ts';
import { shrink } from './shrink.ts';
import { allVisitKinds, readVisitKinds } from './visit-kinds.ts';
import { runsOf } from './visits.ts';

const planOf = (seed: number, mix = 'all', runs = 300): Plan =>
  makePlan({ ...defaultSettings, seed, runs, mixes: readMixes(mix) });

describe('a plan', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentmesh-plan-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('follows from its seed', () => {
    expect(planOf(7)).toEqual(planOf(7));
    expect(planOf(7).visits).not.toEqual(planOf(8).visits);
    expect(planOf(7).faults).not.toEqual(planOf(8).faults);
  });

  it('has the wanted number of runs, and all kinds of steps and of faults', () => {
    const { visits, faults } = planOf(7);
    const runs = visits.reduce((sum, visit) => sum + runsOf(visit), 0);
    expect(runs).toBeGreaterThanOrEqual(300);
    expect(runs).toBeLessThan(310);
    const steps = visits.flatMap(({ bursts }) => bursts.flat());
    expect(new Set(steps.map((step) => step.do))).toEqual(
      new Set(['say', 'answer', 'outcome', 'cancel', 'delete', 'fork', 'rewind', 'upload']),
    );
    const ids = steps.flatMap((step) => ('id' in step ? [step.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(
      new Set([
        ...['kill', 'kill-at', 'term', 'pause', 'restart', 'freeze'],
        ...['cut', 'refuse', 'stall', 'slow', 'partition', 'fill'],
      ]),
    );
  });

  it.each(mixes)('of the mix %s has only its faults', (mix) => {
    const kinds = {
      none: [],
      kills: ['kill', 'kill-at', 'term', 'restart'],
      pauses: ['pause', 'freeze'],
      outages: ['restart', 'freeze'],
      network: ['cut', 'refuse', 'stall', 'slow', 'partition'],
      full: ['fill'],
      clock: ['jump'],
    }[mix];
    expect(new Set(planOf(3, mix).faults.map(({ kind }) => kind))).toEqual(new Set(kinds));
  });

  it('leaves a Redis behind Sentinels the time to be whole again', () => {
    const { faults: planned } = makePlan({ ...planOf(7).settings, redisKind: 'sentinel' });
    const { faults } = planOf(7);
    const isRedis = ({ target }: Plan['faults'][number]) => target === 'redis';
    expect(planned.filter((fault) => !isRedis(fault))).toEqual(faults.filter((fault) => !isRedis(fault)));
    const ofRedis = planned.filter(isRedis);
    expect(ofRedis.length).toBeGreaterThan(10);
    expect(ofRedis.map(({ kind }) => kind)).not.toContain('fill');
    for (const [n, { atMs }] of ofRedis.slice(1).entries())
      expect(atMs - (ofRedis[n]?.atMs ?? 0) - (ofRedis[n]?.forMs ?? 0)).toBeGreaterThanOrEqual(15_000);
  });

  it('may have only some kinds of visits', () => {
    const only = makePlan({ ...defaultSettings, seed: 1, runs: 20, mixes: ['none'], visits: ['talk'] });
    expect(new Set(only.visits.flatMap(({ bursts }) => bursts.map((burst) => burst.length)))).toEqual(
      new Set([1]),
    );
  });

  it('comes back from its file unchanged', () => {
    const plan = planOf(9, 'kills,network', 40);
    const file = join(folder, 'plan.json');
    writePlan(file, plan);
    expect(readPlan(file)).toEqual(plan);
  });

  it('is not read from another file', () => {
    const file = join(folder, 'other.json');
    writeFileSync(file, '{"format":0}');
    expect(() => readPlan(file)).toThrow('no plan of format 1 is in the file');
  });
});

it('names the mixes and the kinds of visits that exist', () => {
  expect(() => readMixes('kills,storms')).toThrow(
    'there is no mix "storms"; use all, or some of: none, kills',
  );
  expect(() => readVisitKinds('talk,dance')).toThrow('there is no kind of visit "dance"');
  expect(readVisitKinds(allVisitKinds.join(','))).toEqual(allVisitKinds);
});

describe('shrinking', () => {
  const plan = planOf(11, 'all', 60);
  const [fault] = plan.faults.slice(5);
  const [visit] = plan.visits.slice(7);
  const needed = visit?.bursts[0]?.[0];
  const isThere = (each: Plan) =>
    each.faults.some((one) => one === fault) &&
    each.visits.some(({ bursts }) => bursts.flat().some((step) => step === needed));

  it('leaves what the violation needs', async () => {
    const small = await shrink(plan, { tries: 500, fails: async (each) => isThere(each) });
    expect(small.faults).toEqual([fault]);
    expect(small.visits).toEqual([{ ...visit, bursts: [visit?.bursts[0]] }]);
  });

  it('stops after the given number of tries', async () => {
    const fails = vi.fn(async () => false);
    await shrink(plan, { tries: 9, fails });
    expect(fails).toHaveBeenCalledTimes(9);
  });
});
