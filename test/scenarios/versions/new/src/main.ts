import { runAgentService } from '@agentmesh/mesh';
import { newDesk } from '../../definitions.ts';

await runAgentService({ agent: newDesk, app: 'desk_app' });
