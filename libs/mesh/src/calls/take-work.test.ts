import { MeshError } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { createTakeWork } from './take-work.ts';

/** Makes a process that finds its work held by a replica, and counts its questions about this replica. */
async function waiting(answer: () => Promise<boolean>) {
  const mesh = await memoryMesh().connect('tool_pay');
  let asked = 0;
  mesh.bus.isGone = async (service, replica) => {
    expect([service, replica]).toEqual(['pay', 'tool_pay-1-00000000']);
    asked += 1;
    return await answer();
  };
  const takeWork = createTakeWork(mesh, 'pay');
  const take = async (gone?: string) =>
    gone === undefined
      ? ({ state: 'busy', holder: 'tool_pay-1-00000000/nonce', isLapsed: true } as const)
      : ({ state: 'taken' } as const);
  return { asked: () => asked, look: async () => (await takeWork(take)).state };
}

it('asks at once again when NATS could not be asked, and takes the work of a replica that is gone', async () => {
  const answers = [() => Promise.reject(new MeshError('unavailable', 'away')), async () => true];
  const { asked, look } = await waiting(() => answers.shift()?.() ?? Promise.resolve(true));
  expect(await look()).toBe('busy');
  expect(await look()).toBe('taken');
  expect(await look()).toBe('taken');
  expect(asked()).toBe(3);
});
