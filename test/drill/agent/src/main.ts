import { runAgentService } from '@agentmesh/mesh';
import { drillApp } from './agent.ts';

await runAgentService(drillApp);
