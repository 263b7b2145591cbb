import { runAgentService } from '@agentmesh/mesh';
import { weatherApp } from './agent.ts';

await runAgentService(weatherApp);
