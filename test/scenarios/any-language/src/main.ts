import { runAgentService } from '@agentmesh/mesh';
import { exchangeApp } from './agent.ts';

await runAgentService(exchangeApp);
