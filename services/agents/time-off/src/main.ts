import { runAgentService } from '@agentmesh/mesh';
import { timeOffAgent } from './agent.ts';

await runAgentService({ agent: timeOffAgent, app: 'time_off_app' });
