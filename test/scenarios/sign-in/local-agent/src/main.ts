import { runAgentService } from '@agentmesh/mesh';
import { diary } from '../../definitions.ts';

await runAgentService({ agent: diary, app: 'diary_app' });
