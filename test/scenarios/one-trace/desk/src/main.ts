import { runAgentService } from '@agentmesh/mesh';
import { desk } from '../../definitions.ts';

await runAgentService({ agent: desk, app: 'desk_app', resumabilityConfig: { isResumable: true } });
