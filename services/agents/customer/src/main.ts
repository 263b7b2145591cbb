import { runAgentService } from '@agentmesh/mesh';
import { customerApp } from './agent.ts';

await runAgentService(customerApp);
