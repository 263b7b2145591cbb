import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { newDesk } from '../../definitions.ts';

await runAgentService(new App({ name: 'desk_app', rootAgent: newDesk }));
