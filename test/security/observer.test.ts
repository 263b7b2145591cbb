import { type MeshObserver, openObserver } from '@agentmesh/bus';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agents, type Form, names, type Stage, startStage, tools } from './stage.fixture.ts';

describe.each(casesOfTier<Form>(['JWT', 'file']))(
  'the observer of a gateway, with accounts as %s',
  (form) => {
    let stage: Stage;
    let observer: MeshObserver;
    beforeAll(async () => {
      stage = await startStage(form, { withLists: true });
      observer = await openObserver({ ...stage.address('gateway'), service: 'gateway' });
    }, 60_000);
    afterAll(async () => {
      await observer?.[Symbol.asyncDispose]();
      await stage?.[Symbol.asyncDispose]();
    });

    it('sees the depth of every queue, and the age of the oldest run and job', async () => {
      const queues = await observer.queues();
      const named = queues.map(({ kind, consumer }) => `${kind} ${consumer}`);
      for (const agent of agents) expect(named).toContain(`run ${agent}`);
      for (const tool of tools) expect(named).toContain(`job ${names.workConsumer(tool)}`);
      for (const { kind, waiting, working, oldest } of queues) {
        expect([waiting, working]).toEqual([1, 0]);
        if (kind === 'operation') expect(oldest).toBeUndefined();
        else expect(Math.abs(Date.now() - Number(oldest))).toBeLessThan(60_000);
      }
    });

    it('asks for the replicas of agents and tools', async () => {
      const [agent = '', tool = ''] = [agents[0], tools[0]];
      const users = { [agent]: `agent_${agent}`, [tool]: `tool_${tool}` };
      for (const [name, user] of Object.entries(users)) {
        expect(await observer.replicas(name)).toEqual([]);
        const replica = await stage.login(user);
        const id = `${user}-1`;
        replica.subscribe(`$SRV.PING.${names.shownAs(name)}`, {
          callback(_error, message) {
            message.respond(JSON.stringify({ id, version: '1.2.3', started: 'now', endpoints: [] }));
          },
        });
        await replica.flush();
        expect(await observer.replicas(name)).toMatchObject([{ replica: id, version: '1.2.3' }]);
        await replica.close();
      }
    });

    it('reads and removes dead letters', async () => {
      const letter = {
        ...{ subject: 'a.b', payload: {}, headers: {}, attempts: 5, replica: 'r', time: 1 },
        error: { code: 'internal', message: 'why' },
      };
      const subject = names.dead('agent', agents[0] ?? '');
      for (let n = 0; n < 3; n += 1) await stage.operator.request(subject, JSON.stringify(letter));
      const { deadLetters } = observer;
      const before = await deadLetters.list();
      // The stage has stored a text that is no letter for each agent.
      expect(before[0]?.letter).toMatchObject({ payload: 'stored', error: { code: 'invalid_argument' } });
      const seqs = before.slice(-3).map(({ seq }) => seq);
      expect(before.at(-1)?.letter).toEqual(letter);
      await deadLetters.remove(seqs[1] ?? 0);
      expect((await deadLetters.list()).map(({ seq }) => seq).slice(-2)).toEqual([seqs[0], seqs[2]]);
      expect((await deadLetters.list({ afterSeq: seqs[0] ?? 0 })).map(({ seq }) => seq)).toEqual([seqs[2]]);
      expect(await deadLetters.count()).toBe(before.length - 1);
      await expect(deadLetters.get(seqs[1] ?? 0)).rejects.toMatchObject({ code: 'not_found' });
      await expect(deadLetters.remove(seqs[1] ?? 0)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('may not read the updates of long-running calls, and may not remove runs', async () => {
      const gateway = await stage.login('gateway');
      const refused = [
        `$JS.API.STREAM.MSG.GET.${names.workStream('operation')}`,
        `$JS.API.STREAM.MSG.DELETE.${names.workStream('run')}`,
        `$JS.API.STREAM.PURGE.${names.deadStream}`,
        `$JS.API.CONSUMER.CREATE.${names.workStream('run')}`,
      ];
      for (const subject of refused)
        await expect(gateway.request(subject, '{"seq":1}', { timeout: 500 })).rejects.toThrow(
          /permission|timeout|responders/i,
        );
    });
  },
);
