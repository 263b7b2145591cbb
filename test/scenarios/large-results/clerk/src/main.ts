import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { clerk } from '../../definitions.ts';

await runAgentService(new App({ name: 'clerk_app', rootAgent: clerk }));
