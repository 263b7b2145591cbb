import { runAgentService } from '@agentmesh/mesh';
import { reimbursementApp } from './agent.ts';

await runAgentService(reimbursementApp);
