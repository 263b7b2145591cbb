import { runAgentService } from '@agentmesh/mesh';
import { stockApp } from './agent.ts';

await runAgentService(stockApp);
