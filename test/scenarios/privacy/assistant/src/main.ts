import { runAgentService } from '@agentmesh/mesh';
import { assistant } from '../../definitions.ts';

await runAgentService(assistant);
