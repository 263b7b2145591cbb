import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { teller } from './agent.ts';

await runAgentService(new App({ name: 'bank_app', rootAgent: teller }));
