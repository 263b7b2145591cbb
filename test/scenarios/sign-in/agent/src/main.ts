import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { planner } from '../../definitions.ts';

await runAgentService(new App({ name: 'planner_app', rootAgent: planner }));
