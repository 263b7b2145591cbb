import { runAgentService } from '@agentmesh/mesh';
import { assistantAgent } from './agent.ts';

await runAgentService({ agent: assistantAgent, app: 'assistant_app' });
