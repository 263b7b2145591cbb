import { App } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { host } from '../../definitions.ts';

await runAgentService(new App({ name: 'host_app', rootAgent: host }));
