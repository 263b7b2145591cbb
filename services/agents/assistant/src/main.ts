import { runAgentService } from '@agentmesh/mesh';
import { assistantApp } from './agent.ts';

await runAgentService(assistantApp);
