import { LlmAgent, TruncatingContextCompactor } from '@agentmesh/agent';
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { InstantLlm, stockPrice } from '../instant-agent.ts';
import { cacheBytes, prompts } from './prompts.ts';

/** Serves the agent of one kind of prompt in a process of its own. */
const [natsUrl = '', redisUrl = '', kind = ''] = process.argv.slice(2);
const prompt = prompts.find((each) => each === kind) ?? 'none';
const log = createLogger({ service: 'growth', replica: 'growth', level: 'warn' });
const sessionCacheBytes = cacheBytes[prompt];
const mesh = await connectMesh({ service: prompt, natsUrl, redisUrl, log, sessionCacheBytes });
const agent = new LlmAgent({
  name: `${prompt}_agent`,
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
  ...(prompt === 'none' && { includeContents: 'none' }),
  ...(prompt === 'windowed' && { contextCompactors: [new TruncatingContextCompactor({ threshold: 20 })] }),
});
await serveAgent(mesh, agent, { app: prompt });
log.warn('started');
