import { LlmAgent, TruncatingContextCompactor } from '@agentmesh/agent';
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { InstantLlm, stockPrice } from '../instant-agent.ts';
import { cacheBytes, prompts } from './prompts.ts';

/** One process with an agent for each kind of prompt. */
const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const log = createLogger({ service: 'growth', replica: 'growth', level: 'warn' });
for (const prompt of prompts) {
  const mesh = await connectMesh({
    service: prompt,
    natsUrl,
    redisUrl,
    log,
    sessionCacheBytes: cacheBytes[prompt],
  });
  const agent = new LlmAgent({
    name: `${prompt}_agent`,
    model: new InstantLlm({ model: 'instant' }),
    tools: [stockPrice],
    ...(prompt === 'none' && { includeContents: 'none' }),
    ...(prompt === 'windowed' && { contextCompactors: [new TruncatingContextCompactor({ threshold: 20 })] }),
  });
  await serveAgent(mesh, agent, { app: prompt });
}
log.warn('started');
