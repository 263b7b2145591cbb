import { runAgentService } from '@agentmesh/mesh';
import { assistantAgent, assistantApp } from './agent.ts';

await runAgentService({ agent: assistantAgent, app: assistantApp.name });
