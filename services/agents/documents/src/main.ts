import { runAgentService } from '@agentmesh/mesh';
import { documentAgent, documentApp } from './agent.ts';

await runAgentService({ agent: documentAgent, app: documentApp.name });
