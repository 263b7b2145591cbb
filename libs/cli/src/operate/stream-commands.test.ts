import { subjects } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { sweepReport } from './stream-commands.ts';

const { workStream } = subjects();
const none = { removed: 0, requeued: 0, unclear: 0, phantoms: 0, behind: 0 };

it('reports only queues in which the sweep found something, and each message that it left', () => {
  const swept = [
    { kind: 'run' as const, consumer: 'one', ...none },
    { kind: 'run' as const, consumer: 'two', ...none, removed: 3, unclear: 1 },
  ];
  const ghost = {
    kind: 'run' as const,
    subject: 'mesh.v1.agent.two.run.s',
    seq: 12,
    ageMs: 7_200_000,
    bytes: new Uint8Array(),
  };
  const lines = sweepReport({ swept, unclear: [ghost], payloads: 2 }, workStream);
  expect(lines.slice(0, 3)).toEqual([
    'run  two  removed: 3  requeued: 0  unclear: 1  phantoms: 0  behind: 0',
    'large payloads  removed: 2',
    'unclear  mesh.v1.agent.two.run.s  message 12 of MESH_RUN  stored 120 min ago',
  ]);
  expect(lines.slice(3).join(' ')).toMatch(/nats stream get <stream> <number>.*nats stream rmm/);
});

it('reports one line when there was nothing to do', () => {
  const swept = [{ kind: 'run' as const, consumer: 'one', ...none }];
  expect(sweepReport({ swept, unclear: [], payloads: 0 }, workStream)).toEqual([
    'there is nothing to sweep; queues: 1',
  ]);
});
