import { runAgentService } from '@agentmesh/mesh';
import { fileAgent } from './agent.ts';

await runAgentService({ agent: fileAgent, app: 'file_app' });
