import { runAgentService } from '@agentmesh/mesh';
import { fileAgent, fileApp } from './agent.ts';

await runAgentService({ agent: fileAgent, app: fileApp.name });
