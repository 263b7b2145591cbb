import { runAgentService } from '@agentmesh/mesh';
import { echoAgent } from './agent.ts';

await runAgentService({ agent: echoAgent, app: 'echo_app' });
