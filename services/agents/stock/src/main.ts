import { runAgentService } from '@agentmesh/mesh';
import { stockAgent, stockApp } from './agent.ts';

await runAgentService({ agent: stockAgent, app: stockApp.name });
