// The process of the tool that agents call in another process.
import { connectMesh, serveTool } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { stockPrice } from './instant-agent.ts';

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const log = createLogger({ service: 'tool', replica: 'bench', level: 'warn' });
const service = 'tool_get_stock_price';
await serveTool(await connectMesh({ service, natsUrl, redisUrl, log }), stockPrice);
log.warn('started');
