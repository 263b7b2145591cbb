import { runAgentService } from '@agentmesh/mesh';
import { timeOffApp } from './agent.ts';

await runAgentService(timeOffApp);
