import { runAgentService } from '@agentmesh/mesh';
import { weatherAgent, weatherApp } from './agent.ts';

await runAgentService({ agent: weatherAgent, app: weatherApp.name });
