import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { keeper } from '../../definitions.ts';

await runAgentService(new App({ name: 'keeper_app', rootAgent: keeper }));
