import { runAgentService } from '@agentmesh/mesh';
import { documentAgent } from './agent.ts';

await runAgentService({ agent: documentAgent, app: 'document_app' });
