import { runAgentService } from '@agentmesh/mesh';
import { weatherAgent } from './agent.ts';

await runAgentService({ agent: weatherAgent, app: 'weather_app' });
