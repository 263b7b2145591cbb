import { runAgentService } from '@agentmesh/mesh';
import { drillApp } from './agent.ts';

await runAgentService({ agent: drillApp.rootAgent, app: drillApp.name });
