import { afterAll, beforeAll, expect, it } from 'vitest';
import { lostReplica, versionMismatch } from '../drill/incidents/replicas.ts';
import { wrongPermission } from '../drill/incidents/servers.ts';
import { openOperator } from '../drill/operator.ts';
import { type Stage, startStage } from '../drill/stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  delete process.env.MESH_WHEN_ABSENT;
});

// `node test/drill/main.ts` looks for all ten incidents, also in the console and among the alerts.
it.each([versionMismatch, wrongPermission, lostReplica])(
  'doctor finds the incident $name, and finds nothing after its end',
  async (incident) => {
    const operator = openOperator({ stage });
    const [sign] = incident.signs(stage).filter(({ place }) => place === 'doctor');
    if (!sign) throw new Error(`${incident.name} has no sign at doctor`);
    const end = await incident.plant(stage);
    expect((await operator.find(incident.name, sign)).text).not.toBe('');
    await end();
    // No dead letter stays either.
    await operator.find('a mesh in order', { place: 'doctor', line: /^no problem was found$/ });
  },
);
