import { runAgentService } from '@agentmesh/mesh';
import { stockAgent } from './agent.ts';

await runAgentService({ agent: stockAgent, app: 'stock_app' });
