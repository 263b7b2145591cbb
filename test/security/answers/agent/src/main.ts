import { runAgentService } from '@agentmesh/mesh';
import { cashApp } from '../../definitions.ts';

await runAgentService(cashApp);
