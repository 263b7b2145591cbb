import { runAgentService } from '@agentmesh/mesh';
import { deskApp } from './agent.ts';

await runAgentService(deskApp);
