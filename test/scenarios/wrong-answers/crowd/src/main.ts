import { runAgentService } from '@agentmesh/mesh';
import { crowd } from './agent.ts';

await runAgentService({ agent: crowd, app: 'crowd_app' });
