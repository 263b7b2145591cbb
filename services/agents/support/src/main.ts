import { runAgentService } from '@agentmesh/mesh';
import { supportAgent } from './agent.ts';

await runAgentService(supportAgent);
