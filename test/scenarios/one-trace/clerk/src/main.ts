import { runAgentService } from '@agentmesh/mesh';
import { clerk } from '../../definitions.ts';

await runAgentService(clerk);
