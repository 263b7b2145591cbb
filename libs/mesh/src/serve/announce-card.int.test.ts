import { FunctionTool } from '@agentmesh/agent';
import { connectNats, provision } from '@agentmesh/bus';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis, until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { connectMesh } from '../connect/connect-mesh.ts';
import { serveTool } from './serve-tool.ts';

it('a service with a card starts also while NATS has no space, a new one says why it cannot', async () => {
  await using nats = await startNats({ maxFileBytes: 2_000_000 });
  await using redis = await startRedis();
  await provision({ url: nats.url, agents: ['lost'], tools: ['clock', 'bell'] });
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'tool_clock', replica: 'test', level: 'warn', destination });
  const start = async (name: string, description: string) => {
    const mesh = await connectMesh({ service: `tool_${name}`, natsUrl: nats.url, redisUrl: redis.url, log });
    const parameters = z.object({ zone: z.string() });
    const tool = new FunctionTool({ name, description, parameters, execute: () => '12:00' });
    try {
      const { stop } = await serveTool(mesh, tool, { version: '1.0.0' });
      await until(() => mesh.bus.directory.get('tool', name) !== undefined, { what: 'the card' });
      await stop();
    } finally {
      await mesh[Symbol.asyncDispose]();
    }
  };
  await start('clock', 'Tells the time.');
  await using bus = await connectNats({ url: nats.url, service: 'agent_lost', cards: false });
  const fill = async () => {
    for (let n = 0; n < 100; n += 1)
      await bus.enqueue('mesh.v1.agent.lost.run.s', 'x'.repeat(100_000), { messageId: `m${n}` });
  };
  await expect(fill()).rejects.toMatchObject({ code: 'resource_exhausted' });
  await start('clock', 'Tells the time of a zone.');
  expect(lines.join('')).toContain('NATS has no space for the card');
  await expect(start('bell', 'Rings.')).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('JetStream has no space left'),
  });
});
