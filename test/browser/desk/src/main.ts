import { runAgentService } from '@agentmesh/mesh';
import { deskApp } from './agent.ts';

await runAgentService({ agent: deskApp.rootAgent, app: deskApp.name });
