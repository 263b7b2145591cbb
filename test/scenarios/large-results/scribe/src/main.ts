import { runAgentService } from '@agentmesh/mesh';
import { scribe } from '../../definitions.ts';

await runAgentService(scribe);
