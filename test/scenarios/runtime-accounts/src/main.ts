import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { echoAgent } from './agent.ts';

await runAgentService(new App({ name: 'echo_app', rootAgent: echoAgent }));
