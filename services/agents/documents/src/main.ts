import { runAgentService } from '@agentmesh/mesh';
import { documentApp } from './agent.ts';

await runAgentService(documentApp);
