import { runAgentService } from '@agentmesh/mesh';
import { keeper } from '../../definitions.ts';

await runAgentService({ agent: keeper, app: 'keeper_app' });
