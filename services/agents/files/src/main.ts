import { runAgentService } from '@agentmesh/mesh';
import { fileApp } from './agent.ts';

await runAgentService(fileApp);
