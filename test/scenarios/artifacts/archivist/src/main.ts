import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { archivist } from '../../definitions.ts';

await runAgentService(new App({ name: 'archive', rootAgent: archivist }));
