import { runAgentService } from '@agentmesh/mesh';
import { helper } from '../../definitions.ts';

await runAgentService(helper);
