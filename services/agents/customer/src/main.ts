import { runAgentService } from '@agentmesh/mesh';
import { customerAgent } from './agent.ts';

await runAgentService({ agent: customerAgent, app: 'customer_app' });
