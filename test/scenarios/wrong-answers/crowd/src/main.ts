import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { crowd } from './agent.ts';

await runAgentService(new App({ name: 'crowd_app', rootAgent: crowd }));
