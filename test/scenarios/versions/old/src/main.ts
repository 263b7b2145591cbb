import { runAgentService } from '@agentmesh/mesh';
import { oldDesk } from '../../definitions.ts';

await runAgentService({ agent: oldDesk, app: 'desk_app' });
