import { runAgentService } from '@agentmesh/mesh';
import { archivist } from '../../definitions.ts';

await runAgentService({ agent: archivist, app: 'archive' });
