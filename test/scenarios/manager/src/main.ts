import { runAgentService } from '@agentmesh/mesh';
import { teller } from './agent.ts';

await runAgentService({ agent: teller, app: 'bank_app' });
