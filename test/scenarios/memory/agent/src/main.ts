import { runAgentService } from '@agentmesh/mesh';
import { host } from '../../definitions.ts';

await runAgentService({ agent: host, app: 'host_app' });
