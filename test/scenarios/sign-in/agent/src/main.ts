import { runAgentService } from '@agentmesh/mesh';
import { planner } from '../../definitions.ts';

await runAgentService({ agent: planner, app: 'planner_app' });
