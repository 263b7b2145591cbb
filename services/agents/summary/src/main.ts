import { runAgentService } from '@agentmesh/mesh';
import { summaryAgent } from './agent.ts';

await runAgentService(summaryAgent);
