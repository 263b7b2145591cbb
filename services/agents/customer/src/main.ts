import { runAgentService } from '@agentmesh/mesh';
import { customerAgent, customerApp } from './agent.ts';

await runAgentService({ agent: customerAgent, app: customerApp.name });
