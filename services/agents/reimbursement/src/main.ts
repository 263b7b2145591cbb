import { runAgentService } from '@agentmesh/mesh';
import { reimbursementAgent, reimbursementApp } from './agent.ts';

await runAgentService({ agent: reimbursementAgent, app: reimbursementApp.name });
