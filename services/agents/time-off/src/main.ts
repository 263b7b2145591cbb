import { runAgentService } from '@agentmesh/mesh';
import { timeOffAgent, timeOffApp } from './agent.ts';

await runAgentService({ agent: timeOffAgent, app: timeOffApp.name });
