import { runAgentService } from '@agentmesh/mesh';
import { reimbursementAgent } from './agent.ts';

await runAgentService({ agent: reimbursementAgent, app: 'reimbursement_app' });
